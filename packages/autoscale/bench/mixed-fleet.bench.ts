/**
 * `npm run bench mixed-fleet [-- --json]`: a day of an endpoint on unlike accelerators beside the same day on the best
 * single type, at five mixes of requests (Llama-3-8B). The fleet of each hour is the cheapest one that reaches the
 * attainment in a simulation of its requests.
 *
 * The question, the accelerators with their prices per hour, and 40 and 120 ms per token of chat are those of Mélange (Griggs et
 * al., arXiv 2404.14527); the objectives of documents are those of summarization in DistServe (Zhong et al., OSDI 2024).
 * Lengths are our own. `--prices L4=0.7,A100=3.67`, `--peak 16`, `--attainment 99`, `--seconds 120`.
 */
import { parseArgs } from "node:util";
import { findAccelerator, findModel } from "@headroom/perf";
import { chooseFleet, type FleetChoice, type RequestClass } from "../src/index.ts";

const { values: options } = parseArgs({
  options: {
    prices: { type: "string", default: "L4=0.7,A10G=1.01,A100=3.67,H100=7.516" },
    peak: { type: "string", default: "16" },
    attainment: { type: "string", default: "99" },
    seconds: { type: "string", default: "120" },
    json: { type: "boolean" },
  },
});

type Share = Omit<RequestClass, "requestsPerS"> & { readonly share: number };
interface Mix {
  readonly name: string;
  readonly classes: readonly Share[];
}

const within40 = { ttftMs: 2000, tpotMs: 40 };
const chat = (share: number, tpotMs: number): Share => ({
  share,
  promptTokens: 300,
  outputTokens: 180,
  objectives: { ttftMs: 2000, tpotMs },
});
const documents = (share: number): Share => ({
  share,
  promptTokens: 4500,
  outputTokens: 280,
  objectives: { ttftMs: 15_000, tpotMs: 150 },
});
const mixes: readonly Mix[] = [
  { name: "80% chat within 120 ms, 20% documents", classes: [chat(0.8, 120), documents(0.2)] },
  { name: "80% chat within 40 ms, 20% documents", classes: [chat(0.8, 40), documents(0.2)] },
  { name: "50% chat within 40 ms, 50% documents", classes: [chat(0.5, 40), documents(0.5)] },
  { name: "50% chat within 40 ms, 50% within 120 ms", classes: [chat(0.5, 40), chat(0.5, 120)] },
  {
    name: "40% chat within 40 ms, 40% within 120 ms, 20% documents",
    classes: [chat(0.4, 40), chat(0.4, 120), documents(0.2)],
  },
];

const model = findModel("llama-3-8b");
if (model === undefined) throw new RangeError("llama-3-8b is not in the catalogue");
const offers = options.prices.split(",").map((each) => {
  const [name = "", price = ""] = each.split("=");
  const accelerator = findAccelerator(name);
  if (accelerator === undefined) throw new RangeError(`${name} is not in the catalogue`);
  return { accelerator, pricePerHour: Number(price) };
});

/** Requests per second: the quietest hour has a sixteenth of the peak. */
const rateAt = (hour: number): number => (Number(options.peak) * (17 - 15 * Math.cos((2 * Math.PI * hour) / 24))) / 32;

const choiceAt = ({ classes }: Mix, requestsPerS: number): FleetChoice =>
  chooseFleet({
    model,
    offers,
    classes: classes.map(({ share, ...lengths }) => ({ requestsPerS: share * requestsPerS, ...lengths })),
    objectives: within40,
    attainmentPct: Number(options.attainment),
    seconds: Number(options.seconds),
  });

/** Prices of the day: of mixed fleets, of the cheapest type of each hour, and of each type that serves all hours. */
function dayOf(mix: Mix): {
  readonly mixed: number;
  readonly hourly: number;
  readonly types: ReadonlyMap<string, number>;
} {
  let [mixed, hourly] = [0, 0];
  const types = new Map(offers.map(({ accelerator: { name } }) => [name, 0]));
  // The rates of the afternoon are those of the morning.
  for (let hour = 0; hour <= 12; hour += 1) {
    const hours = hour % 12 === 0 ? 1 : 2;
    const { fleet, oneType, alike } = choiceAt(mix, rateAt(hour));
    mixed += hours * (fleet?.pricePerHour ?? Infinity);
    hourly += hours * (oneType?.pricePerHour ?? Infinity);
    for (const [name, price] of types) {
      const found = alike.find(({ replicas }) => replicas[0]?.accelerator === name);
      types.set(name, price + hours * (found?.pricePerHour ?? Infinity));
    }
  }
  return { mixed, hourly, types };
}

for (const mix of mixes) {
  const { mixed, hourly, types } = dayOf(mix);
  const [best = "", bestPrice = Infinity] = [...types].toSorted((a, b) => a[1] - b[1])[0] ?? [];
  const cheaperPct = (than: number): number => Number((100 * (1 - mixed / than)).toFixed(1));
  process.stdout.write(
    `${JSON.stringify({
      mix: mix.name,
      mixed_per_day: Number(mixed.toFixed(2)),
      best_type: best,
      best_type_per_day: Number(bestPrice.toFixed(2)),
      cheaper_pct: cheaperPct(bestPrice),
      cheaper_than_best_type_of_each_hour_pct: cheaperPct(hourly),
    })}\n`,
  );
}
