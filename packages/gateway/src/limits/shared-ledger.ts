/**
 * The ledger of a group of gateways: amounts of all limits, and the money counted for each gateway. Every change is
 * recorded in a file before its effect leaves the process, so that the next holder of the ledger continues it exactly
 * where a killed one stopped.
 */
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { LedgerChange } from "./ledger-change.ts";
import type { LedgerDraft } from "./ledger-draft.ts";
import { LINES_AT_A_TIME, type LedgerFile } from "./ledger-file.ts";
import { LimitLedger, windowOf, type Grant, type LimitDefinition } from "./ledger.ts";
import { WINDOW_MS, type UsageWindow } from "./window.ts";
import type { CountedUse } from "./wire.ts";

interface Member {
  /** Number of the gateway's process. */
  readonly life: number;
  /**
   * Money counted for this gateway in the current periods, by limit. When the gateway starts again, the sums from its
   * usage files replace it.
   */
  readonly money: Map<string, Money>;
}

interface Money {
  readonly definition: LimitDefinition;
  readonly window: UsageWindow;
}

/** A new file that is being written, and the limits whose amounts are in it already. */
interface Rewrite {
  readonly draft: LedgerDraft;
  readonly written: Set<string>;
}

/** Wait in ms before a grant is tried again while the file cannot be written. */
const FILE_RETRY_MS = 1000;
/** Difference in ms between the clocks of two holders that needs no correction. */
const CLOCK_DIFFERENCE_MS = 1000;

export class SharedLedger {
  #id: string;
  #ledger = new LimitLedger();
  readonly #members = new Map<string, Member>();
  #file: LedgerFile | undefined;
  readonly #now: () => number;
  readonly #startedAtMs: number;
  /** Until this time, nothing of a sliding limit is granted: another ledger granted amounts that this one lacks. */
  #withheldUntilMs = 0;
  /** The new file that is being written. */
  #rewrite: Rewrite | undefined;

  private constructor(file: LedgerFile | undefined, now: () => number) {
    this.#id = file?.restored?.id ?? randomUUID();
    this.#file = file;
    this.#now = now;
    this.#startedAtMs = now();
  }

  /** Continues the ledger in the file. `file` is undefined if changes are not recorded. */
  static async open(file: LedgerFile | undefined, now: () => number): Promise<SharedLedger> {
    const ledger = new SharedLedger(file, now);
    let lastMs = 0;
    for (const [index, change] of (file?.restored?.changes ?? []).entries()) {
      ledger.#apply(change);
      if (change.kind !== "withheld") lastMs = Math.max(lastMs, change.atMs);
      if (index % LINES_AT_A_TIME === LINES_AT_A_TIME - 1) await setImmediate();
    }
    if (lastMs > now() + CLOCK_DIFFERENCE_MS) ledger.#setBack(lastMs);
    if (file !== undefined && !(await ledger.#writeAgain(file))) {
      // The old file stays. It must not be taken for this ledger later, so this ledger gets an id of its own.
      ledger.#id = randomUUID();
      ledger.#file = undefined;
      file.close();
    }
    return ledger;
  }

  get id(): string {
    return this.#id;
  }

  /** Number of gateways that have ever been members. */
  get memberCount(): number {
    return this.#members.size;
  }

  hasMember(name: string): boolean {
    return this.#members.has(name);
  }

  grant(
    member: string,
    definition: LimitDefinition,
    request: { readonly need: number; readonly want: number; readonly sharers: number },
    nowMs: number,
  ): Grant {
    if (this.#file !== undefined && !this.#file.isWritable())
      return { kind: "denied", retryAtMs: nowMs + FILE_RETRY_MS, remaining: 0 };
    if (definition.period === undefined && nowMs < this.#withheldUntilMs)
      return { kind: "denied", retryAtMs: this.#withheldUntilMs, remaining: 0 };
    const grant = this.#ledger.grant(definition, request, nowMs);
    if (grant.kind === "denied") return grant;
    const { amount } = grant;
    if (definition.kind === "money") this.#moneyOf(member, definition)?.add(amount, nowMs);
    this.#record({ kind: "added", atMs: nowMs, member, definition, amount });
    return grant;
  }

  /** Refunds to the slot. A negative slot means the newest amounts. */
  refund(member: string, returned: { definition: LimitDefinition; slot: number; amount: number }, nowMs: number): void {
    this.#change({ kind: "refunded", atMs: nowMs, member, ...returned });
  }

  charge(member: string, definition: LimitDefinition, amount: number, nowMs: number): void {
    this.#change({ kind: "added", atMs: nowMs, member, definition, amount });
  }

  /**
   * A gateway connects. `formerLedger` is the ledger that it used last, or "" after its start; `used` is what it counted
   * itself. Its amounts are imported unless this ledger has counted them already.
   */
  join(
    member: string,
    { life, formerLedger, used }: { life: number; formerLedger: string; used: readonly CountedUse[] },
    nowMs: number,
  ): void {
    const before = this.#members.get(member);
    const isSameLedger = formerLedger === this.id;
    if (before?.life === life && isSameLedger) return;
    // The former ledger is lost, and with it the amounts of gateways that do not report: this holder has another
    // state folder than the last one. They are over after one window.
    if (formerLedger !== "" && !isSameLedger)
      this.#change({ kind: "withheld", untilMs: this.#startedAtMs + WINDOW_MS });
    this.#change({ kind: "joined", atMs: nowMs, member, life });
    // If the gateway was a member of this ledger before, the ledger contains its usage of the last minute.
    const isKnown = before !== undefined && isSameLedger;
    for (const { definition, ages } of used) {
      if (isKnown && definition.kind !== "money") continue;
      for (const [age, amount] of ages)
        this.#change({ kind: "imported", atMs: nowMs, member, definition, age, amount });
    }
  }

  /** Writes the recorded changes. Returns false, and keeps them for the next time, if that is not possible. */
  save(): boolean {
    return this.#file?.flush() ?? true;
  }

  close(): void {
    this.#leaveRewrite();
    this.#file?.close();
  }

  #change(change: LedgerChange): void {
    this.#apply(change);
    this.#record(change);
  }

  #record(change: LedgerChange): void {
    const file = this.#file;
    if (file === undefined) return;
    file.append(change);
    // These change what is written already.
    if (change.kind === "joined" || change.kind === "withheld") this.#leaveRewrite();
    else if (this.#rewrite?.written.has(change.definition.id) === true) this.#rewrite.draft.add(change);
    if (file.isLarge && this.#rewrite === undefined) void this.#writeAgain(file);
  }

  /**
   * Writes the whole ledger to a new file, a part at a time: with 10,000 teams it takes a second. A limit's amounts are
   * those of the moment in which the limit is written; its later changes follow. Resolves with whether the new file has
   * replaced the old one.
   */
  async #writeAgain(file: LedgerFile): Promise<boolean> {
    const draft = file.draft(this.#id);
    if (draft === undefined) return false;
    const rewrite: Rewrite = { draft, written: new Set() };
    this.#rewrite = rewrite;
    draft.add({ kind: "withheld", untilMs: this.#withheldUntilMs });
    const nowMs = this.#now();
    for (const [member, { life }] of this.#members) draft.add({ kind: "joined", atMs: nowMs, member, life });
    let lineCount = 0;
    for (const definition of this.#ledger.definitions()) {
      if (lineCount >= LINES_AT_A_TIME) {
        lineCount = 0;
        if (!file.write(draft)) {
          this.#rewrite = undefined;
          return false;
        }
        await setImmediate();
        if (this.#rewrite !== rewrite) return false;
      }
      lineCount += this.#write(definition, draft);
      rewrite.written.add(definition.id);
    }
    this.#rewrite = undefined;
    return file.adopt(draft);
  }

  /** Writes the amounts of a limit. Returns the number of lines, members without an amount included. */
  #write(definition: LimitDefinition, draft: LedgerDraft): number {
    const atMs = this.#now();
    if (definition.kind !== "money") {
      const ages = this.#ledger.ages(definition, atMs);
      for (const [age, amount] of ages) draft.add({ kind: "imported", atMs, member: "", definition, age, amount });
      return ages.length + 1;
    }
    // All money belongs to gateways.
    for (const [member, { money }] of this.#members) {
      const amount = money.get(definition.id)?.window.used(atMs) ?? 0;
      if (amount > 0) draft.add({ kind: "imported", atMs, member, definition, age: 0, amount });
    }
    return this.#members.size + 1;
  }

  /** Stops writing a new file. The old one has everything. */
  #leaveRewrite(): void {
    this.#rewrite?.draft.drop();
    this.#rewrite = undefined;
  }

  #apply(change: LedgerChange): void {
    if (change.kind === "withheld") {
      this.#withheldUntilMs = change.untilMs;
      return;
    }
    const { atMs, member } = change;
    if (change.kind === "joined") {
      for (const { definition, window } of this.#members.get(member)?.money.values() ?? [])
        this.#ledger.refundNewest(definition, window.used(atMs), atMs);
      this.#members.set(member, { life: change.life, money: new Map() });
      return;
    }
    const { definition, amount } = change;
    const money = definition.kind === "money" ? this.#moneyOf(member, definition) : undefined;
    switch (change.kind) {
      case "added":
        this.#ledger.charge(definition, amount, atMs);
        money?.add(amount, atMs);
        return;
      case "refunded":
        if (change.slot < 0) {
          this.#ledger.refundNewest(definition, amount, atMs);
          money?.refundNewest(amount, atMs);
        } else {
          this.#ledger.refund(definition, change.slot, amount, atMs);
          money?.refund(change.slot, amount, atMs);
        }
        return;
      case "imported":
        this.#ledger.import(definition, change, atMs);
        money?.import(change, atMs);
    }
  }

  /** Money of the gateway. Undefined if it never joined. */
  #moneyOf(member: string, definition: LimitDefinition): UsageWindow | undefined {
    const money = this.#members.get(member)?.money;
    if (money === undefined) return undefined;
    const known = money.get(definition.id);
    if (known !== undefined) return known.window;
    const window = windowOf(definition);
    money.set(definition.id, { definition, window });
    return window;
  }

  /**
   * The clock of the last holder was ahead, and `lastMs` was its last time. All amounts keep their age: otherwise they
   * would count until this clock reaches the other one's time.
   */
  #setBack(lastMs: number): void {
    const nowMs = this.#now();
    const counted = this.#ledger.counted(lastMs);
    this.#ledger = new LimitLedger();
    for (const { definition, ages } of counted) {
      for (const [age, amount] of ages) this.#ledger.import(definition, { age, amount }, nowMs);
    }
    for (const { money } of this.#members.values()) {
      for (const [id, { definition, window }] of money) {
        const amount = window.used(lastMs);
        const moved = windowOf(definition);
        moved.import({ age: 0, amount }, nowMs);
        money.set(id, { definition, window: moved });
      }
    }
    this.#withheldUntilMs = Math.min(this.#withheldUntilMs, nowMs + WINDOW_MS);
  }
}
