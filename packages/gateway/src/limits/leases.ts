/**
 * Limits shared with other gateways. Amounts come from leases that the coordinator grants for half a second, so that a
 * request rarely waits for the coordinator. Unused parts of a lease are returned. If the coordinator ends, requests wait
 * for the next one. If none comes, each gateway uses only its share of the limit.
 */
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { ListenAddress } from "../config/quantities.ts";
import { assertAmount } from "./amount.ts";
import type { LimitSource, TakeOutcome } from "./account.ts";
import { Coordinator } from "./coordinator.ts";
import { LimitLedger, type LimitDefinition } from "./ledger.ts";
import { UnsentSettlements, type Settlement } from "./unsent.ts";
import {
  isProof,
  NEWEST_SLOT,
  proofOf,
  readLines,
  type CountedUse,
  type LedgerMessage,
  type MemberMessage,
} from "./wire.ts";

/** Length of a lease in ms. It is shorter than the time slot that `SlidingWindow` adds for leases. */
const LEASE_MS = 450;
const TICK_MS = 225;
/** Time in ms for which a denial is used again without asking the coordinator. */
const DENIAL_MS = 25;
const WAITING_MAX = 20_000;
const RECONNECT_MS = 100;
/**
 * Time in ms after which a silent coordinator counts as lost, and for which requests wait for the successor of one that
 * has ended.
 */
const ANSWER_MS = 2000;
/** Time in ms after which a request may be tried again for which the coordinator refused to read the question. */
const REFUSED_MS = 1000;
/** Weight of the newest tick in the mean demand. */
const DEMAND_WEIGHT = 0.3;

interface Waiter {
  readonly amount: number;
  readonly done: (outcome: TakeOutcome) => void;
}

interface Lease {
  definition: LimitDefinition;
  slot: number;
  left: number;
  expiresAtMs: number;
  usedInTick: number;
  demand: number;
  isAsking: boolean;
  deniedAmount: number;
  deniedUntilMs: number;
  waiting: Waiter[];
}

export interface LeaseOptions {
  readonly address: ListenAddress;
  readonly secret: string;
  readonly member: string;
  readonly life: number;
  /** Folder in which a holder of the limits records them. Undefined if they are not recorded. */
  readonly directory: string | undefined;
  /** Money spent in the current periods, according to this gateway's usage files. */
  readonly spent: readonly CountedUse[];
  now(): number;
  log(line: string): void;
}

export class LeasedLimits implements LimitSource {
  readonly #options: LeaseOptions;
  readonly #leases = new Map<string, Lease>();
  /**
   * This gateway's own usage. It is sent to a new coordinator, and it keeps the gateway within its share when there is
   * no coordinator.
   */
  readonly #own = new LimitLedger();
  #coordinator: Coordinator | undefined;
  #socket: Socket | undefined;
  #isWelcome = false;
  /** The ledger that sent the last `welcome`. */
  #ledgerId = "";
  /** The nonce of the last `hello`. */
  #nonce = "";
  #memberCount = 0;
  /** Until this time, requests wait for the successor of a lost coordinator. */
  #awaitedUntilMs = 0;
  #asked = new Map<number, { lease: Lease; sentAtMs: number; need: number }>();
  #askCount = 0;
  /** Settlements, and amounts taken without the coordinator, since the connection to it was lost. */
  readonly #unsent = new UnsentSettlements();
  /** The part of this gateway's usage that its last report to a coordinator lacks. */
  readonly #unreported = new UnsentSettlements();
  #output = "";
  #waitingCount = 0;
  #isSilent = false;
  #isDistrusted = false;
  #isClosed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: LeaseOptions) {
    this.#options = options;
    for (const { definition, ages } of options.spent) {
      for (const [age, amount] of ages) this.#own.import(definition, { age, amount }, options.now());
    }
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Resolves when the gateway has joined the shared limits, or is limited to its share of them. */
  async start(): Promise<void> {
    const untilMs = this.#options.now() + 5000;
    void this.#connect();
    while (!this.#isWelcome && this.#options.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 5));
    if (!this.#isWelcome)
      this.#options.log("the coordinator of limits cannot be reached; limited requests are refused until it can");
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const lease of this.#leases.values()) this.#return(lease);
    this.#flush();
    this.#socket?.destroySoon();
    this.#coordinator?.close();
  }

  used(definition: LimitDefinition): number {
    return this.#own.known(definition, this.#options.now());
  }

  take(definition: LimitDefinition, amount: number, done: (outcome: TakeOutcome) => void): void {
    assertAmount(amount);
    const lease = this.#leaseOf(definition);
    const nowMs = this.#options.now();
    if (lease.waiting.length === 0 && lease.left >= amount && nowMs < lease.expiresAtMs) {
      this.#spend(lease, amount, done);
      return;
    }
    if (amount >= lease.deniedAmount && nowMs < lease.deniedUntilMs) {
      done({ kind: "denied", retryAtMs: lease.deniedUntilMs });
      return;
    }
    if (!this.#isWelcome && nowMs >= this.#awaitedUntilMs) {
      this.#takeOfShare(definition, amount, done);
      return;
    }
    if (this.#waitingCount >= WAITING_MAX) {
      done({ kind: "denied", retryAtMs: nowMs + 1000 });
      return;
    }
    this.#waitingCount++;
    lease.waiting.push({ amount, done });
    if (this.#isWelcome && !lease.isAsking) this.#ask(lease);
  }

  give(definition: LimitDefinition, slot: number, amount: number): void {
    this.#own.refundNewest(definition, amount, this.#options.now());
    this.#settle({ t: "give", definition, slot, amount });
  }

  giveNewest(definition: LimitDefinition, amount: number): void {
    this.give(definition, NEWEST_SLOT, amount);
  }

  charge(definition: LimitDefinition, amount: number): void {
    assertAmount(amount);
    this.#own.charge(definition, amount, this.#options.now());
    this.#settle({ t: "charge", definition, amount });
  }

  countSpent(definition: LimitDefinition, amount: number): void {
    const missing = amount - this.#own.used(definition, this.#options.now());
    if (missing > 0) this.charge(definition, missing);
  }

  #settle(settlement: Settlement): void {
    if (this.#isWelcome) this.#send(settlement);
    else {
      this.#unsent.add(settlement);
      this.#unreported.add(settlement);
    }
  }

  #leaseOf(definition: LimitDefinition): Lease {
    const found = this.#leases.get(definition.id);
    if (found !== undefined) {
      // A new configuration may allow what was denied.
      if (found.definition.limit !== definition.limit) found.deniedUntilMs = 0;
      found.definition = definition;
      return found;
    }
    const lease: Lease = {
      definition,
      slot: 0,
      left: 0,
      expiresAtMs: 0,
      usedInTick: 0,
      demand: 0,
      isAsking: false,
      deniedAmount: Number.POSITIVE_INFINITY,
      deniedUntilMs: 0,
      waiting: [],
    };
    this.#leases.set(definition.id, lease);
    return lease;
  }

  #spend(lease: Lease, amount: number, done: (outcome: TakeOutcome) => void): void {
    // A request that is larger than its limit gets the whole limit and no more.
    const taken = Math.min(amount, lease.left);
    lease.left -= taken;
    lease.usedInTick += taken;
    this.#own.charge(lease.definition, taken, this.#options.now());
    if (!this.#isWelcome) this.#unreported.add({ t: "charge", definition: lease.definition, amount: taken });
    done({ kind: "taken", slot: lease.slot, amount: taken });
  }

  #takeOfShare(definition: LimitDefinition, amount: number, done: (outcome: TakeOutcome) => void): void {
    const nowMs = this.#options.now();
    const share = this.#memberCount === 0 ? 0 : Math.floor(definition.limit / this.#memberCount);
    if (this.#own.used(definition, nowMs) + amount > share) {
      done({ kind: "denied", retryAtMs: nowMs + 1000 });
      return;
    }
    this.charge(definition, amount);
    done({ kind: "taken", slot: undefined, amount });
  }

  #ask(lease: Lease): void {
    const first = lease.waiting[0];
    if (first === undefined) return;
    this.#return(lease);
    lease.isAsking = true;
    let wanted = 0;
    for (const { amount } of lease.waiting) wanted += amount;
    this.#askCount++;
    this.#asked.set(this.#askCount, { lease, sentAtMs: this.#options.now(), need: first.amount });
    // A sum of thousands of requests can be larger than an amount, and more than the limit is never granted.
    const { limit } = lease.definition;
    const want = Math.min(limit, Math.ceil(Math.max(wanted, lease.demand * 1.5)));
    this.#send({
      t: "ask",
      n: this.#askCount,
      definition: lease.definition,
      need: Math.min(limit, first.amount),
      want,
    });
  }

  #receive(message: LedgerMessage): void {
    switch (message.t) {
      case "challenge":
        this.#greet(message);
        return;
      case "welcome":
        this.#welcomed(message);
        return;
      case "members":
        this.#memberCount = message.members;
        return;
      case "granted":
      case "refused":
      case "denied": {
        const asked = this.#asked.get(message.n);
        if (asked === undefined) return;
        this.#asked.delete(message.n);
        asked.lease.isAsking = false;
        if (message.t === "granted") this.#granted(asked, message);
        else this.#denied(asked, message.t === "denied" ? message.inMs : REFUSED_MS);
        this.#ask(asked.lease);
      }
    }
  }

  /** Answers the coordinator's challenge and reports what this gateway has used. */
  #greet({ nonce: theirs }: LedgerMessage & { readonly t: "challenge" }): void {
    const { secret, member, life, now } = this.#options;
    this.#unreported.clear();
    this.#nonce = randomUUID();
    const proof = proofOf(secret, theirs, member, life);
    this.#output = "";
    this.#send({ t: "hello", proof, nonce: this.#nonce, member, life, ledger: this.#ledgerId });
    this.#send({ t: "used", used: this.#own.counted(now()) });
  }

  #welcomed({ proof, ledger, members }: LedgerMessage & { readonly t: "welcome" }): void {
    if (!isProof(proof, proofOf(this.#options.secret, this.#nonce, ledger))) {
      if (!this.#isDistrusted)
        this.#options.log("the coordinator of limits does not know the secret of this gateway; it is not used");
      this.#isDistrusted = true;
      this.#socket?.destroy();
      return;
    }
    const isSameLedger = ledger === this.#ledgerId;
    this.#isWelcome = true;
    this.#isDistrusted = false;
    this.#ledgerId = ledger;
    this.#memberCount = members;
    // Another ledger has the usage from the report, and knows nothing of the leases of the former one.
    if (!isSameLedger) for (const lease of this.#leases.values()) lease.left = 0;
    for (const settlement of (isSameLedger ? this.#unsent : this.#unreported).take()) this.#send(settlement);
    this.#unsent.clear();
    this.#unreported.clear();
    for (const lease of this.#leases.values()) if (!lease.isAsking) this.#ask(lease);
  }

  #granted({ lease, sentAtMs }: { lease: Lease; sentAtMs: number }, grant: { slot: number; amount: number }): void {
    lease.slot = grant.slot;
    lease.left = grant.amount;
    lease.expiresAtMs = sentAtMs + LEASE_MS;
    lease.deniedUntilMs = 0;
    let served = 0;
    for (const { amount, done } of lease.waiting) {
      if (lease.left < Math.min(amount, lease.definition.limit)) break;
      served++;
      this.#waitingCount--;
      this.#spend(lease, amount, done);
    }
    lease.waiting.splice(0, served);
  }

  #denied({ lease, need }: { lease: Lease; need: number }, inMs: number): void {
    const nowMs = this.#options.now();
    lease.deniedAmount = need;
    lease.deniedUntilMs = nowMs + Math.min(inMs, DENIAL_MS);
    const waiting = lease.waiting;
    lease.waiting = [];
    for (const waiter of waiting) {
      if (waiter.amount < need) lease.waiting.push(waiter);
      else {
        this.#waitingCount--;
        waiter.done({ kind: "denied", retryAtMs: nowMs + inMs });
      }
    }
  }

  #return(lease: Lease): void {
    const { definition, slot, left } = lease;
    if (left > 0) {
      const give = { t: "give", definition, slot, amount: left } as const;
      // Not `#settle`: the amount is no part of this gateway's usage.
      if (this.#isWelcome) this.#send(give);
      else this.#unsent.add(give);
    }
    lease.left = 0;
  }

  #tick(): void {
    const nowMs = this.#options.now();
    for (const lease of this.#leases.values()) {
      lease.demand += DEMAND_WEIGHT * (lease.usedInTick * (LEASE_MS / TICK_MS) - lease.demand);
      lease.usedInTick = 0;
      if (nowMs >= lease.expiresAtMs && !lease.isAsking) this.#return(lease);
    }
    const oldest = this.#asked.values().next().value;
    if (oldest !== undefined && nowMs - oldest.sentAtMs > ANSWER_MS) {
      // The requests have waited long enough.
      this.#isSilent = true;
      this.#socket?.destroy();
    }
    if (!this.#isWelcome && nowMs >= this.#awaitedUntilMs) this.#serveOfShare();
  }

  #send(message: MemberMessage): void {
    if (this.#socket === undefined) return;
    if (this.#output === "") queueMicrotask(() => this.#flush());
    this.#output += `${JSON.stringify(message)}\n`;
  }

  #flush(): void {
    if (this.#output !== "") this.#socket?.write(this.#output);
    this.#output = "";
  }

  /** Connects to the coordinator, or becomes the coordinator. */
  async #connect(): Promise<void> {
    const { address } = this.#options;
    this.#coordinator ??= await Coordinator.start(address, this.#options);
    if (this.#isClosed) {
      this.#coordinator?.close();
      return;
    }
    const socket = connect({ host: address.host, port: address.port, noDelay: true });
    socket.on("error", () => undefined);
    socket.once("connect", () => (this.#socket = socket));
    readLines(socket, (message) => this.#receive(message as LedgerMessage));
    socket.once("close", () => this.#lost());
  }

  #lost(): void {
    this.#socket = undefined;
    if (this.#isWelcome && !this.#isClosed) {
      this.#options.log("the connection to the coordinator of limits was lost; limited requests wait for the next one");
      this.#awaitedUntilMs = this.#isSilent ? 0 : this.#options.now() + ANSWER_MS;
    }
    this.#isSilent = false;
    this.#isWelcome = false;
    this.#asked.clear();
    for (const lease of this.#leases.values()) lease.isAsking = false;
    if (this.#options.now() >= this.#awaitedUntilMs) this.#serveOfShare();
    if (!this.#isClosed) setTimeout(() => void this.#connect(), RECONNECT_MS);
  }

  /** Serves waiting requests from this gateway's share of their limits. */
  #serveOfShare(): void {
    for (const lease of this.#leases.values()) {
      const waiting = lease.waiting;
      lease.waiting = [];
      this.#waitingCount -= waiting.length;
      for (const { amount, done } of waiting) this.#takeOfShare(lease.definition, amount, done);
    }
  }
}
