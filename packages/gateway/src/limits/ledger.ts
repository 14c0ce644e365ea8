/**
 * The authority over limits: their definitions, and how much is used or leased. One ledger exists per group of
 * gateways; it does no I/O. A grant counts as used from the moment it is made; unused parts of a lease are refunded. So
 * the sum over all gateways exceeds a limit only by requests that used more than they reserved.
 */
import { CalendarWindow, SlidingWindow, type Period, type UsageWindow } from "./window.ts";

export type LimitKind = "requests" | "tokens" | "money";

/** Limits are identified by kind and subject; every gateway sends their definitions, from the same configuration. */
export interface LimitDefinition {
  readonly id: string;
  readonly kind: LimitKind;
  readonly limit: number;
  /** Calendar period of a budget; undefined: a limit per sliding minute. */
  readonly period?: Period | undefined;
}

export type Grant =
  | { readonly kind: "granted"; readonly amount: number; readonly slot: number; readonly remaining: number }
  | { readonly kind: "denied"; readonly retryAtMs: number; readonly remaining: number };

/**
 * Maximum number of definitions, because clients must not grow a table without bound. Configurations hold at most 3 ×
 * 100,000.
 */
const LIMITS_MAX = 300_000;

interface Entry {
  definition: LimitDefinition;
  readonly window: UsageWindow;
}

export class LimitLedger {
  readonly #entries = new Map<string, Entry>();

  /** Grants at least `need`, at most `want`; grants less when little is left, so that leases strand little. */
  grant(definition: LimitDefinition, request: { need: number; want: number; sharers: number }, nowMs: number): Grant {
    const entry = this.#entry(definition);
    if (entry === undefined) return { kind: "denied", retryAtMs: nowMs + 1000, remaining: 0 };
    const { limit } = entry.definition;
    const remaining = limit - entry.window.used(nowMs);
    // A request larger than the whole limit is served alone; otherwise it would never be served.
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
    this.#entry(definition)?.window.refund(slot, amount, nowMs);
  }

  /** Counts usage without a reservation, or beyond it. */
  charge(definition: LimitDefinition, amount: number, nowMs: number): void {
    this.#entry(definition)?.window.add(amount, nowMs);
  }

  refundNewest(definition: LimitDefinition, amount: number, nowMs: number): void {
    this.#entry(definition)?.window.refundNewest(amount, nowMs);
  }

  /** Imports the count of another ledger. */
  import(definition: LimitDefinition, counted: { readonly age: number; readonly amount: number }, nowMs: number): void {
    this.#entry(definition)?.window.import(counted, nowMs);
  }

  /** All amounts in use, for another ledger to import. */
  counted(nowMs: number): readonly { definition: LimitDefinition; ages: readonly (readonly [number, number])[] }[] {
    return [...this.#entries.values()]
      .map(({ definition, window }) => ({ definition, ages: window.ages(nowMs) }))
      .filter(({ ages }) => ages.length > 0);
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
    const window = definition.period === undefined ? new SlidingWindow() : new CalendarWindow(definition.period);
    const entry = { definition, window };
    this.#entries.set(definition.id, entry);
    return entry;
  }
}
