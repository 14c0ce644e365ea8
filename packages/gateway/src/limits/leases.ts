/**
 * Limits shared with other gateways. Amounts come from leases that the coordinator grants for half a second, so that a
 * request rarely waits for the coordinator. Unused parts of a lease are returned. Without a coordinator each gateway
 * uses only its share of the limit.
 */
import { connect, type Socket } from "node:net";
import type { ListenAddress } from "../config/quantities.ts";
import type { LimitSource, TakeOutcome } from "./account.ts";
import { Coordinator } from "./coordinator.ts";
import { LimitLedger, type LimitDefinition } from "./ledger.ts";
import { readLines, type CountedUse, type LedgerMessage, type MemberMessage } from "./wire.ts";

/** Length of a lease in ms. It is shorter than the time slot that `SlidingWindow` adds for leases. */
const LEASE_MS = 450;
const TICK_MS = 225;
/** Time in ms for which a denial is used again without asking the coordinator. */
const DENIAL_MS = 25;
const WAITING_MAX = 20_000;
const RECONNECT_MS = 100;
/** Time in ms after which a silent coordinator counts as lost, because requests wait for it. */
const ANSWER_MS = 2000;
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
  #ledgerId = "";
  #memberCount = 0;
  #asked = new Map<number, { lease: Lease; sentAtMs: number; need: number }>();
  #askCount = 0;
  /** Amounts taken without the coordinator since the connection to it was lost. */
  readonly #uncounted = new Map<string, { definition: LimitDefinition; amount: number }>();
  #output = "";
  #waitingCount = 0;
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

  take(definition: LimitDefinition, amount: number, done: (outcome: TakeOutcome) => void): void {
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
    if (!this.#isWelcome) {
      this.#takeOfShare(definition, amount, done);
      return;
    }
    if (this.#waitingCount >= WAITING_MAX) {
      done({ kind: "denied", retryAtMs: nowMs + 1000 });
      return;
    }
    this.#waitingCount++;
    lease.waiting.push({ amount, done });
    if (!lease.isAsking) this.#ask(lease);
  }

  give(definition: LimitDefinition, slot: number, amount: number): void {
    this.#own.refundNewest(definition, amount, this.#options.now());
    if (slot >= 0) this.#send({ t: "give", definition, slot, amount });
  }

  charge(definition: LimitDefinition, amount: number): void {
    this.#own.charge(definition, amount, this.#options.now());
    this.#send({ t: "charge", definition, amount });
  }

  #leaseOf(definition: LimitDefinition): Lease {
    const found = this.#leases.get(definition.id);
    if (found !== undefined) {
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
    done({ kind: "taken", slot: lease.slot, amount: taken });
  }

  #takeOfShare(definition: LimitDefinition, amount: number, done: (outcome: TakeOutcome) => void): void {
    const nowMs = this.#options.now();
    const share = this.#memberCount === 0 ? 0 : Math.floor(definition.limit / this.#memberCount);
    if (this.#own.used(definition, nowMs) + amount > share) {
      done({ kind: "denied", retryAtMs: nowMs + 1000 });
      return;
    }
    this.#own.charge(definition, amount, nowMs);
    const uncounted = this.#uncounted.get(definition.id);
    this.#uncounted.set(definition.id, { definition, amount: amount + (uncounted?.amount ?? 0) });
    // The amount has no slot in a ledger. The next ledger gets it with the hello message.
    done({ kind: "taken", slot: -1, amount });
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
    const want = Math.ceil(Math.max(wanted, lease.demand * 1.5));
    this.#send({ t: "ask", n: this.#askCount, definition: lease.definition, need: first.amount, want });
  }

  #receive(message: LedgerMessage): void {
    switch (message.t) {
      case "welcome":
        this.#isWelcome = true;
        // A new ledger got the whole count with the hello message. The previous ledger knows only the amounts that it
        // granted.
        if (message.ledger === this.#ledgerId) {
          for (const { definition, amount } of this.#uncounted.values())
            this.#send({ t: "charge", definition, amount });
        }
        this.#uncounted.clear();
        this.#ledgerId = message.ledger;
        this.#memberCount = message.members;
        for (const lease of this.#leases.values()) if (!lease.isAsking) this.#ask(lease);
        return;
      case "members":
        this.#memberCount = message.members;
        return;
      case "granted":
      case "denied": {
        const asked = this.#asked.get(message.n);
        if (asked === undefined) return;
        this.#asked.delete(message.n);
        asked.lease.isAsking = false;
        if (message.t === "granted") this.#granted(asked, message);
        else this.#denied(asked, message.inMs);
        this.#ask(asked.lease);
      }
    }
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
    if (lease.left > 0) this.#send({ t: "give", definition: lease.definition, slot: lease.slot, amount: lease.left });
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
    if (oldest !== undefined && nowMs - oldest.sentAtMs > ANSWER_MS) this.#socket?.destroy();
  }

  #send(message: MemberMessage): void {
    if (this.#socket === undefined || (!this.#isWelcome && message.t !== "hello" && message.t !== "used")) return;
    if (this.#output === "") queueMicrotask(() => this.#flush());
    this.#output += `${JSON.stringify(message)}\n`;
  }

  #flush(): void {
    if (this.#output !== "") this.#socket?.write(this.#output);
    this.#output = "";
  }

  /** Connects to the coordinator, or becomes the coordinator. */
  async #connect(): Promise<void> {
    const { address, secret, now } = this.#options;
    if (this.#coordinator === undefined) {
      const coordinator = new Coordinator(secret, now);
      const isHolder = await coordinator.listen(address).then(
        () => true,
        () => false,
      );
      if (isHolder) this.#coordinator = coordinator;
    }
    if (this.#isClosed) {
      this.#coordinator?.close();
      return;
    }
    const socket = connect({ host: address.host, port: address.port, noDelay: true });
    socket.on("error", () => undefined);
    socket.once("connect", () => {
      this.#socket = socket;
      this.#sendHello();
    });
    readLines(socket, (message) => this.#receive(message as LedgerMessage));
    socket.once("close", () => this.#lost());
  }

  #sendHello(): void {
    const { secret, member, life, now } = this.#options;
    const used = this.#own.counted(now());
    this.#output = "";
    this.#send({ t: "hello", secret, member, life, ledger: this.#ledgerId });
    this.#send({ t: "used", used });
  }

  #lost(): void {
    this.#socket = undefined;
    if (this.#isWelcome)
      this.#options.log("the connection to the coordinator of limits was lost; keeping to a share meanwhile");
    this.#isWelcome = false;
    this.#asked.clear();
    for (const lease of this.#leases.values()) {
      lease.isAsking = false;
      lease.left = 0;
      const waiting = lease.waiting;
      lease.waiting = [];
      this.#waitingCount -= waiting.length;
      for (const { amount, done } of waiting) this.#takeOfShare(lease.definition, amount, done);
    }
    if (!this.#isClosed) setTimeout(() => void this.#connect(), RECONNECT_MS);
  }
}
