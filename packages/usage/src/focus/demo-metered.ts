/** Storage and tokens of the demo's month: artifacts that are stored and deleted, a model that is bought, and one of the own fleet. */
import { DAY_MS, draw } from "@headroom/model";
import { GatewayUsage } from "../metered/gateway-usage.ts";
import type { MeteredLine } from "../metered/metered-line.ts";
import type { PriceBook } from "../prices/price-documents.ts";

const HOUR_MS = 3_600_000;
const MONTH_HOURS = 730;
const MICRO = 1_000_000;
const REQUESTS_OF_RECORD = 40;

export const demoMeteredPrices: readonly object[] = [
  {
    kind: "price",
    name: "artifact-store",
    source: "storage",
    provider: "Example Cloud",
    store: "artifacts",
    from: "2026-01-01",
    perGibMonth: 0.021,
  },
  {
    kind: "price",
    name: "assistant-large",
    source: "tokens",
    provider: "Example Models",
    model: "assistant-large",
    from: "2026-01-01",
    perMillionInput: 2.5,
    perMillionCachedInput: 0.625,
    perMillionOutput: 12,
  },
];

interface DemoMetered {
  readonly seed: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly teams: readonly string[];
}

export const demoMetered = (demo: DemoMetered, book: PriceBook): readonly MeteredLine[] => [
  ...storedLines(demo, book),
  ...tokenLines(demo, book),
];

/** One artifact of each team, which grows by a version a week. */
function storedLines({ seed, fromMs, toMs, teams }: DemoMetered, { storage }: PriceBook): readonly MeteredLine[] {
  const price = storage.find(({ store }) => store === "artifacts");
  if (price === undefined) return [];
  return teams.flatMap((team, index) =>
    Array.from({ length: Math.round((toMs - fromMs) / DAY_MS) }, (_, day): MeteredLine => {
      const versions = 1 + Math.floor(day / 7);
      const gib = 40 + (draw(seed, index, "artifact") % 4_000) / 10;
      const quantity = versions * gib * (DAY_MS / HOUR_MS);
      const microUsd = Math.round((quantity * price.perGibMonth * MICRO) / MONTH_HOURS);
      return {
        dayMs: fromMs + day * DAY_MS,
        service: "storage",
        team,
        subject: `model:${team}/checkpoints@${versions}`,
        place: price.store,
        quantity,
        requestCount: 0,
        price: price.name,
        provider: price.provider,
        microUsd,
        chargedMicroUsd: 0,
        parts: [{ meter: "Stored Data", quantity, unitPrice: price.perGibMonth, microUsd }],
      };
    }),
  );
}

function tokenLines({ seed, fromMs, toMs, teams }: DemoMetered, book: PriceBook): readonly MeteredLine[] {
  const usage = new GatewayUsage();
  for (let atMs = fromMs; atMs < toMs; atMs += DAY_MS / 4)
    for (const [index, team] of teams.entries())
      for (const [model, pool] of [
        ["assistant-large", "provider"],
        ["assistant-small", "h100-owned"],
      ] as const) {
        const drawn = (purpose: string, max: number): number =>
          draw(seed, (atMs / HOUR_MS) * teams.length + index, `${model} ${purpose}`) % max;
        const promptTokens = REQUESTS_OF_RECORD * (400 + drawn("prompt", 3_000));
        usage.add({
          id: `${model}-${atMs}-${index}`,
          atMs,
          team,
          model,
          pool,
          outcome: "completed",
          promptTokens,
          completionTokens: REQUESTS_OF_RECORD * (50 + drawn("output", 600)),
          cachedTokens: Math.floor((promptTokens * drawn("cached", 80)) / 100),
          nanoUsd: 0,
        });
      }
  return usage.lines({ fromMs, toMs }, book);
}
