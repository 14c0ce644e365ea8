/**
 * The ledger of a group of gateways: amounts of all limits, and the money counted for each gateway. Every change is
 * recorded in a file before its effect leaves the process, so that the next holder of the ledger continues it exactly
 * where a killed one stopped.
 */
import { randomUUID } from "node:crypto";
import { changesOf, type LedgerChange } from "./ledger-change.ts";
import type { LedgerFile } from "./ledger-file.ts";
import { LimitLedger, type Grant, type LimitDefinition } from "./ledger.ts";
import { WINDOW_MS } from "./window.ts";
import type { CountedUse } from "./wire.ts";

interface Member {
  /** Number of the gateway's process. */
  readonly life: number;
  /**
   * Money counted for this gateway, by limit. When the gateway starts again, the sums from its usage files replace it.
   */
  readonly money: Map<string, { definition: LimitDefinition; amount: number }>;
}

/** Wait in ms before a grant is tried again while the file cannot be written. */
const FILE_RETRY_MS = 1000;

export class SharedLedger {
  readonly id: string;
  readonly #ledger = new LimitLedger();
  readonly #members = new Map<string, Member>();
  readonly #file: LedgerFile | undefined;
  readonly #startedAtMs: number;
  /** Until this time, nothing of a sliding limit is granted: another ledger granted amounts that this one lacks. */
  #withheldUntilMs = 0;

  /** `file` is undefined if changes are not recorded. */
  constructor(file: LedgerFile | undefined, nowMs: number) {
    this.#startedAtMs = nowMs;
    const { id = randomUUID(), changes = [] } = file?.restored ?? {};
    for (const change of changes) this.#apply(change);
    const isRecorded = file?.begin(id, this.#snapshot(nowMs)) === true;
    // The old file stays. It must not be taken for this ledger later, so this ledger gets an id of its own.
    this.id = isRecorded ? id : randomUUID();
    this.#file = isRecorded ? file : undefined;
    if (!isRecorded) file?.close();
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
    this.#countMoney(member, definition, amount);
    this.#record({ kind: "added", atMs: nowMs, member, definition, amount }, nowMs);
    return grant;
  }

  /** Refunds to the slot. A negative slot means the newest amounts. */
  refund(member: string, returned: { definition: LimitDefinition; slot: number; amount: number }, nowMs: number): void {
    this.#change({ kind: "refunded", atMs: nowMs, member, ...returned }, nowMs);
  }

  charge(member: string, definition: LimitDefinition, amount: number, nowMs: number): void {
    this.#change({ kind: "added", atMs: nowMs, member, definition, amount }, nowMs);
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
      this.#change({ kind: "withheld", untilMs: this.#startedAtMs + WINDOW_MS }, nowMs);
    this.#change({ kind: "joined", atMs: nowMs, member, life }, nowMs);
    // If the gateway was a member of this ledger before, the ledger contains its usage of the last minute.
    const isKnown = before !== undefined && isSameLedger;
    for (const { definition, ages } of used) {
      if (isKnown && definition.kind !== "money") continue;
      for (const [age, amount] of ages)
        this.#change({ kind: "imported", atMs: nowMs, member, definition, age, amount }, nowMs);
    }
  }

  /** Writes the recorded changes. Returns false, and keeps them for the next time, if that is not possible. */
  save(): boolean {
    return this.#file?.flush() ?? true;
  }

  close(): void {
    this.#file?.close();
  }

  #change(change: LedgerChange, nowMs: number): void {
    this.#apply(change);
    this.#record(change, nowMs);
  }

  #record(change: LedgerChange, nowMs: number): void {
    if (this.#file === undefined) return;
    // The snapshot contains the change.
    if (this.#file.isLarge && this.#file.begin(this.id, this.#snapshot(nowMs))) return;
    this.#file.append(change);
  }

  #apply(change: LedgerChange): void {
    if (change.kind === "withheld") {
      this.#withheldUntilMs = change.untilMs;
      return;
    }
    const { atMs, member } = change;
    switch (change.kind) {
      case "joined":
        for (const { definition, amount } of this.#members.get(member)?.money.values() ?? [])
          this.#ledger.refundNewest(definition, amount, atMs);
        this.#members.set(member, { life: change.life, money: new Map() });
        return;
      case "added":
        this.#ledger.charge(change.definition, change.amount, atMs);
        this.#countMoney(member, change.definition, change.amount);
        return;
      case "refunded":
        if (change.slot < 0) this.#ledger.refundNewest(change.definition, change.amount, atMs);
        else this.#ledger.refund(change.definition, change.slot, change.amount, atMs);
        this.#countMoney(member, change.definition, -change.amount);
        return;
      case "imported":
        this.#ledger.import(change.definition, change, atMs);
        this.#countMoney(member, change.definition, change.amount);
    }
  }

  #countMoney(member: string, definition: LimitDefinition, amount: number): void {
    if (definition.kind !== "money") return;
    const money = this.#members.get(member)?.money;
    const counted = money?.get(definition.id);
    if (counted === undefined) money?.set(definition.id, { definition, amount });
    else counted.amount += amount;
  }

  #snapshot(nowMs: number): readonly LedgerChange[] {
    const members = [...this.#members].map(([name, { life, money }]) => ({ name, life, money: [...money.values()] }));
    return [
      { kind: "withheld", untilMs: this.#withheldUntilMs },
      ...changesOf(this.#ledger.counted(nowMs), members, nowMs),
    ];
  }
}
