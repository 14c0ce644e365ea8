/** Storage, egress and tokens in the report of costs. */
import type { MeteredLine } from "@headroom/usage";

const MICRO = 1_000_000;
const UNITS = { storage: "GiB-hours", egress: "GiB", tokens: "tokens" } as const;

export const meteredItems = (metered: readonly MeteredLine[]): readonly object[] =>
  metered.map((line) => ({
    day: new Date(line.dayMs).toISOString().slice(0, 10),
    service: line.service,
    team: line.team,
    subject: line.subject,
    place: line.place,
    quantity: line.quantity,
    unit: UNITS[line.service],
    requests: line.requestCount,
    price: line.price,
    usd: line.microUsd / MICRO,
    charged_usd: line.chargedMicroUsd / MICRO,
  }));

/** Sums by service: those in the total, and those that no price document covers. */
export function meteredPairs(metered: readonly MeteredLine[]): readonly (readonly [string, string])[] {
  const sum = (lines: readonly MeteredLine[], field: "quantity" | "microUsd" | "chargedMicroUsd"): number =>
    lines.reduce((all, line) => all + line[field], 0);
  const money = (microUsd: number): string => `$${(microUsd / MICRO).toFixed(2)}`;
  const storage = metered.filter(({ service }) => service === "storage");
  const tokens = metered.filter(({ service }) => service === "tokens");
  const bought = tokens.filter(({ price }) => price !== "");
  const own = tokens.filter(({ price }) => price === "");
  const unpriced = storage.filter(({ price }) => price === "");
  const pairs: (readonly [string, string])[] = [];
  if (storage.length > 0) {
    const without = unpriced.length === 0 ? "" : `; ${sum(unpriced, "quantity").toFixed(1)} of them without a price`;
    pairs.push([
      "storage",
      `${money(sum(storage, "microUsd"))}, ${sum(storage, "quantity").toFixed(1)} GiB-hours${without}`,
    ]);
  }
  const egress = metered.filter(({ service }) => service === "egress");
  if (egress.length > 0)
    pairs.push(["egress", `${money(sum(egress, "microUsd"))}, ${sum(egress, "quantity").toFixed(1)} GiB`]);
  if (bought.length > 0)
    pairs.push(["tokens bought", `${money(sum(bought, "microUsd"))}, ${sum(bought, "quantity")} tokens`]);
  if (own.length > 0)
    pairs.push([
      "tokens served",
      `${sum(own, "quantity")} tokens by the own fleet, charged ${money(sum(own, "chargedMicroUsd"))} (not in the total)`,
    ]);
  return pairs;
}
