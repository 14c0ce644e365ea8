/**
 * The authority over limits: their definitions, and the amounts that are used or leased. A group of gateways has one
 * ledger; it does no I/O. A grant counts as used from the moment it is made, and unused parts of a lease are refunded.
 * So the sum over all gateways exceeds a limit only by requests that used more than they reserved.
 */
import { assertAmount } from "./amount.ts";
import { CalendarWindow, SlidingWindow, type Period, type UsageWindow } from "./window.ts";

export type LimitKind = "requests" | "tokens" | "money";

/**
 * A limit is identified by its kind and subject. Every gateway sends its definitions; all have the same configuration.
 */
export interface LimitDefinition {
  readonly id: string;
  readonly kind: LimitKind;
  readonly limit: number;
  /** Calendar period of a budget. Undefined for a limit per sliding minute. */
  readonly period?: Period | undefined;
}

export type Grant =
  | { readonly kind: "granted"; readonly amount: number; readonly slot: number; readonly remaining: number }
  | { readonly kind: "denied"; readonly retryAtMs: number; readonly remaining: number };

/**
 * Maximum number of definitions: clients must not be able to grow the table without limit. A configuration holds at
 * most 3 × 100,000.
 */
const LIMITS_MAX = 300_000;

interface Entry {
  definition: LimitDefinition;
  readonly window: UsageWindow;
}

export function windowOf({ period }: LimitDefinition): UsageWindow {
  return period === undefined ? new SlidingWindow() : new CalendarWindow(period);
}

export class LimitLedger {
  readonly #entries = new Map<string, Entry>();

  /**
   * Grants an amount from `need` to `want`. It grants less when little is left, so that little stays unused in leases.
   */
  grant(definition: LimitDefinition, request: { need: number; want: number; sharers: number }, nowMs: number): Grant {
    assertAmount(request.need);
    assertAmount(request.want);
    const entry = this.#entry(definition);
    if (entry === undefined) return { kind: "denied", retryAtMs: nowMs + 1000, remaining: 0 };
    const { limit } = entry.definition;
    const remaining = limit - entry.window.used(nowMs);
    // A request larger than the whole limit is served when nothing else counts against the limit. Otherwise it would
    // never be served.
    const need = Math.min(request.need, limit);
    if (need > remaining) {
      return { kind: "denied", retryAtMs: entry.window.freeAtMs(need, limit, nowMs), remaining };
    }
    const fair = Math.floor(remaining / (4 * Math.max(1, request.sharers)));
    const amount = Math.max(need, Math.min(request.want, fair));
    const slot = entry.window.add(amount, nowMs);
    return { kind: "granted", amount, slot, remaining: remaining - amount };
  }

  refund(definition: LimitDefinition, slot: number, amount: number, nowMs: number): void {
    assertAmount(amount);
    this.#entry(definition)?.window.refund(slot, amount, nowMs);
  }

  /** Counts usage for which nothing was reserved, or that exceeds the reservation. */
  charge(definition: LimitDefinition, amount: number, nowMs: number): void {
    assertAmount(amount);
    this.#entry(definition)?.window.add(amount, nowMs);
  }

  refundNewest(definition: LimitDefinition, amount: number, nowMs: number): void {
    assertAmount(amount);
    this.#entry(definition)?.window.refundNewest(amount, nowMs);
  }

  /** Adds amounts that another ledger has counted. */
  import(definition: LimitDefinition, counted: { readonly age: number; readonly amount: number }, nowMs: number): void {
    assertAmount(counted.amount);
    this.#entry(definition)?.window.import(counted, nowMs);
  }

  /** All limits. Those that are added while the caller iterates follow at the end. */
  *definitions(): Generator<LimitDefinition> {
    for (const { definition } of this.#entries.values()) yield definition;
  }

  /** Amounts in use of one limit, with the age of their slots. */
  ages(definition: LimitDefinition, nowMs: number): readonly (readonly [age: number, amount: number])[] {
    return this.#entry(definition)?.window.ages(nowMs) ?? [];
  }

  /** All amounts in use, for another ledger to import. */
  counted(nowMs: number): readonly { definition: LimitDefinition; ages: readonly (readonly [number, number])[] }[] {
    return [...this.#entries.values()]
      .map(({ definition, window }) => ({ definition, ages: window.ages(nowMs) }))
      .filter(({ ages }) => ages.length > 0);
  }

  /** The amount in use of a limit. Reading it keeps no memory for limits that nothing has used. */
  known({ id, period }: LimitDefinition, nowMs: number): number {
    const entry = this.#entries.get(id);
    return entry?.definition.period === period ? (entry?.window.used(nowMs) ?? 0) : 0;
  }

  used(definition: LimitDefinition, nowMs: number): number {
    return this.#entry(definition)?.window.used(nowMs) ?? 0;
  }

  #entry(definition: LimitDefinition): Entry | undefined {
    const found = this.#entries.get(definition.id);
    if (found !== undefined && found.definition.period === definition.period) {
      found.definition = definition;
      return found;
    }
    if (this.#entries.size >= LIMITS_MAX) return undefined;
    const entry = { definition, window: windowOf(definition) };
    this.#entries.set(definition.id, entry);
    return entry;
  }
}
