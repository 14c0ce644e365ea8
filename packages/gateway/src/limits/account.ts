/**
 * A request's reservation against its team's limits. Requests, tokens and money are reserved together before the
 * request goes to a replica, and settled together at its end.
 */
import { assertAmount } from "./amount.ts";
import type { LimitDefinition, LimitLedger } from "./ledger.ts";
import type { UsageRecord } from "../usage/record.ts";

export interface Denial {
  readonly definition: LimitDefinition;
  readonly retryAtMs: number;
}

/** The part of a limit that a request holds. */
interface Held {
  readonly definition: LimitDefinition;
  /** Undefined if the amount has no slot in a ledger. */
  readonly slot: number | undefined;
  amount: number;
}

export interface ReservedAmount {
  readonly definition: LimitDefinition;
  readonly amount: number;
}

const noAmounts: readonly ReservedAmount[] = [];

export type ReserveOutcome = Reservation | Denial;

/** Source of reserved amounts: the ledger in this process, or leases from the coordinator. */
export interface LimitSource {
  /** Takes an amount. `done` is called immediately if possible, or later if a lease has to be fetched. */
  take(definition: LimitDefinition, amount: number, done: (outcome: TakeOutcome) => void): void;
  /** Gives back what was taken in this slot. */
  give(definition: LimitDefinition, slot: number, amount: number): void;
  /** Gives back an amount that has no slot, from the newest amounts. */
  giveNewest(definition: LimitDefinition, amount: number): void;
  charge(definition: LimitDefinition, amount: number): void;
  /** Amount that counts against the limit now, as far as this gateway knows: in a group, its own part. */
  used(definition: LimitDefinition): number;
  /** Counts this much as spent in the present period, if less is counted for this gateway. */
  countSpent(definition: LimitDefinition, amount: number): void;
  close(): void;
}

export type TakeOutcome =
  | { readonly kind: "taken"; readonly slot: number | undefined; readonly amount: number }
  | { readonly kind: "denied"; readonly retryAtMs: number };

interface Used {
  readonly tokens: number;
  readonly nanoUsd: number;
  /** The part of `nanoUsd` that the overflow of a pool pays. */
  readonly overflowNanoUsd: number;
}

/** The amounts of a usage record that count against limits. */
export function usedOf(record: Omit<UsageRecord, "seq">): Used {
  const { promptTokens, completionTokens, nanoUsd, overflow } = record;
  return { tokens: promptTokens + completionTokens, nanoUsd, overflowNanoUsd: overflow === undefined ? 0 : nanoUsd };
}

export class Reservation {
  readonly #source: LimitSource;
  readonly #held: Held[];

  constructor(source: LimitSource, held: Held[]) {
    this.#source = source;
    this.#held = held;
  }

  get amounts(): readonly ReservedAmount[] {
    return this.#held;
  }

  /** Adds a budget in which `amount` of this request is counted already. */
  addBudget(definition: LimitDefinition, amount: number): void {
    if (this.#held.some((each) => each.definition.id === definition.id)) return;
    this.#held.push({ definition, slot: undefined, amount });
  }

  /**
   * Charges the usage of a request in progress beyond its reservation, so that other requests see the usage of a long
   * stream before its end.
   */
  advance(used: Omit<Used, "overflowNanoUsd">): void {
    for (const held of this.#held) {
      if (held.definition.kind === "requests") continue;
      const actual = held.definition.kind === "tokens" ? used.tokens : used.nanoUsd;
      if (actual <= held.amount) continue;
      this.#source.charge(held.definition, actual - held.amount);
      held.amount = actual;
    }
  }

  /** Refunds unused amounts and charges usage beyond the reservation. */
  settle(used: Omit<Used, "overflowNanoUsd">): void {
    for (const held of this.#held) {
      const { definition, amount } = held;
      if (definition.kind === "requests") continue;
      const actual = definition.kind === "tokens" ? used.tokens : used.nanoUsd;
      if (actual < amount) refund(this.#source, held, amount - actual);
      else if (actual > amount) this.#source.charge(definition, actual - amount);
    }
  }

  /** Refunds the whole reservation, because the request never reached a replica. */
  release(): void {
    for (const held of this.#held) refund(this.#source, held, held.amount);
  }
}

function refund(source: LimitSource, { definition, slot }: Held, amount: number): void {
  if (slot === undefined) source.giveNewest(definition, amount);
  else source.give(definition, slot, amount);
}

/** The limits to which one request counts: those reserved at its start, and budgets that a new configuration adds. */
export class RequestLimits {
  readonly #source: LimitSource;
  readonly #atStart: TeamLimits;
  /** Undefined until the limits have granted the request's need. */
  reservation: Reservation | undefined;
  #addedBudgets: Reservation | undefined;
  /** A part of the budget of the overflow by which the request left its pool. */
  #overflow: Reservation | undefined;
  /** Money in the request's last record in the usage file. */
  #recordedNanoUsd = 0;
  #isEnded = false;

  constructor(source: LimitSource, atStart: TeamLimits) {
    this.#source = source;
    this.#atStart = atStart;
  }

  get reserved(): readonly ReservedAmount[] {
    return this.reservation?.amounts ?? noAmounts;
  }

  /** Counts the request to a budget that its team did not have at its start. Its records are counted there already. */
  addBudget(definition: LimitDefinition): void {
    if (this.#isEnded || this.#atStart.money?.id === definition.id) return;
    this.#addedBudgets ??= new Reservation(this.#source, []);
    this.#addedBudgets.addBudget(definition, this.#recordedNanoUsd);
  }

  /** A request that has ended meanwhile costs nothing. */
  leave(reservation: Reservation): void {
    if (this.#isEnded) reservation.release();
    else this.#overflow = reservation;
  }

  /** Called when the usage of a request in progress is recorded. */
  recorded(used: Used): void {
    this.#recordedNanoUsd = used.nanoUsd;
    this.reservation?.advance(used);
    this.#addedBudgets?.advance(used);
    this.#overflow?.advance({ tokens: 0, nanoUsd: used.overflowNanoUsd });
  }

  /** `used` is undefined if the request never reached a replica. */
  end(used: Used | undefined): void {
    this.#isEnded = true;
    this.#overflow?.settle({ tokens: 0, nanoUsd: used?.overflowNanoUsd ?? 0 });
    if (used === undefined) this.reservation?.release();
    else {
      this.reservation?.settle(used);
      this.#addedBudgets?.settle(used);
    }
  }
}

export interface TeamLimits {
  readonly requests: LimitDefinition | undefined;
  readonly tokens: LimitDefinition | undefined;
  readonly money: LimitDefinition | undefined;
}

export interface Need {
  readonly tokens: number;
  readonly nanoUsd: number;
}

/** Reserves one limit after the other. If one is denied, the limits that were already reserved get a refund. */
export function reserve(
  source: LimitSource,
  limits: TeamLimits,
  need: Need,
  done: (outcome: ReserveOutcome) => void,
): void {
  const held: Held[] = [];
  let step = 0;
  assertAmount(need.tokens);
  assertAmount(need.nanoUsd);
  const next = (): void => {
    for (; step < kinds.length; step++) {
      const definition = limits[kinds[step]!];
      if (definition === undefined) continue;
      step++;
      source.take(definition, amountOf(definition, need), (outcome) => taken(definition, outcome));
      return;
    }
    done(new Reservation(source, held));
  };
  const taken = (definition: LimitDefinition, outcome: TakeOutcome): void => {
    if (outcome.kind === "taken") {
      held.push({ definition, slot: outcome.slot, amount: outcome.amount });
      next();
      return;
    }
    for (const each of held) refund(source, each, each.amount);
    done({ definition, retryAtMs: outcome.retryAtMs });
  };
  next();
}

const kinds: readonly (keyof TeamLimits)[] = ["requests", "tokens", "money"];

function amountOf({ kind }: LimitDefinition, need: Need): number {
  if (kind === "requests") return 1;
  return kind === "tokens" ? need.tokens : need.nanoUsd;
}

/** Limits of a gateway that is not in a group. Every amount comes from the ledger in this process. */
export class LocalLimits implements LimitSource {
  readonly #ledger: LimitLedger;
  readonly #now: () => number;

  constructor(ledger: LimitLedger, now: () => number) {
    this.#ledger = ledger;
    this.#now = now;
  }

  take(definition: LimitDefinition, amount: number, done: (outcome: TakeOutcome) => void): void {
    const grant = this.#ledger.grant(definition, { need: amount, want: amount, sharers: 1 }, this.#now());
    done(
      grant.kind === "granted"
        ? { kind: "taken", slot: grant.slot, amount: grant.amount }
        : { kind: "denied", retryAtMs: grant.retryAtMs },
    );
  }

  give(definition: LimitDefinition, slot: number, amount: number): void {
    this.#ledger.refund(definition, slot, amount, this.#now());
  }

  giveNewest(definition: LimitDefinition, amount: number): void {
    this.#ledger.refundNewest(definition, amount, this.#now());
  }

  charge(definition: LimitDefinition, amount: number): void {
    this.#ledger.charge(definition, amount, this.#now());
  }

  used(definition: LimitDefinition): number {
    return this.#ledger.known(definition, this.#now());
  }

  countSpent(definition: LimitDefinition, amount: number): void {
    const missing = amount - this.#ledger.used(definition, this.#now());
    if (missing > 0) this.charge(definition, missing);
  }

  close(): void {
    // The ledger exists only as long as the process, so nothing is saved.
  }
}
