/**
 * Settlements for a coordinator that cannot be reached, summed by limit and slot. They are sent when it is back. Their
 * number is bounded by the number of limits and, for refunds, by a maximum.
 */
import type { LimitDefinition } from "./ledger.ts";
import type { MemberMessage } from "./wire.ts";

export type Settlement = MemberMessage & { readonly t: "give" | "charge" };

/** Maximum number of refunds. Further refunds are dropped: the limits then count more than was used. */
const REFUNDS_MAX = 100_000;

interface Sum {
  definition: LimitDefinition;
  amount: number;
}

export class UnsentSettlements {
  readonly #charges = new Map<string, Sum>();
  readonly #refunds = new Map<string, Sum & { readonly slot: number }>();

  add(settlement: Settlement): void {
    const { t, definition, amount } = settlement;
    if (t === "charge") {
      const charge = this.#charges.get(definition.id);
      if (charge === undefined) this.#charges.set(definition.id, { definition, amount });
      else charge.amount += amount;
      return;
    }
    const { slot } = settlement;
    const key = `${definition.id} ${slot}`;
    const refund = this.#refunds.get(key);
    if (refund !== undefined) refund.amount += amount;
    else if (this.#refunds.size < REFUNDS_MAX) this.#refunds.set(key, { definition, slot, amount });
  }

  /** Charges come first, because a refund may belong to one of them. */
  take(): readonly Settlement[] {
    const all: Settlement[] = [];
    for (const each of this.#charges.values()) all.push({ t: "charge", ...each });
    for (const each of this.#refunds.values()) all.push({ t: "give", ...each });
    this.clear();
    return all;
  }

  clear(): void {
    this.#charges.clear();
    this.#refunds.clear();
  }
}
