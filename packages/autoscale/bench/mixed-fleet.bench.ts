/**
 * `npm run bench mixed-fleet [-- --json]`: the cheapest fleet of unlike accelerators beside the cheapest one of a single
 * type, at five mixes of traffic and several rates (Llama-3-8B; both confirmed by simulations of requests). Prices per
 * accelerator-hour and lengths of requests are our own; the question is that of Mélange (Griggs et al., arXiv 2404.14527). `--prices L4=0.7,A100=3.67,H100=7.516`, `--rates 1,2,4`, `--attainment 99`.
 */
import { parseArgs } from "node:util";
import { findAccelerator, findModel } from "@headroom/perf";
import { chooseFleet } from "../src/index.ts";

const { values: options } = parseArgs({
  options: {
    prices: { type: "string", default: "L4=0.7,A10G=1.01,A100=3.67,H100=7.516" },
    rates: { type: "string", default: "4,8,16" },
    attainment: { type: "string", default: "99" },
    seconds: { type: "string", default: "300" },
  },
});

interface Mix {
  readonly name: string;
  readonly requestsPerS: number;
  /** Shares of the classes with their mean lengths in tokens. */
  readonly classes: readonly { readonly share: number; readonly promptTokens: number; readonly outputTokens: number }[];
  readonly ttftMs: number;
  readonly tpotMs: number;
}

const short = { promptTokens: 300, outputTokens: 180 };
const usual = { promptTokens: 1100, outputTokens: 210 };
const long = { promptTokens: 4500, outputTokens: 280 };

/** Short requests with a share of long ones, within 120 ms a token; and conversations within 40 ms. */
const mixes: readonly Omit<Mix, "requestsPerS">[] = [
  ...[0.05, 0.1, 0.2, 0.35].map((share) => ({
    name: `${100 * share}% long`,
    classes: [
      { share: 1 - share, ...short },
      { share, ...long },
    ],
    ttftMs: 2000,
    tpotMs: 120,
  })),
  {
    name: "conversations, 10% long, 40 ms",
    classes: [
      { share: 0.9, ...usual },
      { share: 0.1, ...long },
    ],
    ttftMs: 2000,
    tpotMs: 40,
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

function compare(mix: Mix): { readonly cheaperPct: number } {
  const { fleet, oneType } = chooseFleet({
    model: model!,
    offers,
    classes: mix.classes.map(({ share, ...lengths }) => ({ requestsPerS: share * mix.requestsPerS, ...lengths })),
    objectives: mix,
    attainmentPct: Number(options.attainment),
    seconds: Number(options.seconds),
  });
  if (fleet === null || oneType === null) throw new RangeError(`${mix.name}: no fleet reaches ${options.attainment}%`);
  const cheaperPct = 100 * (1 - Math.min(1, fleet.pricePerHour / oneType.pricePerHour));
  process.stdout.write(
    `${JSON.stringify({
      mix: mix.name,
      requests_per_s: mix.requestsPerS,
      mixed: fleet.text,
      mixed_per_hour: Number(fleet.pricePerHour.toFixed(2)),
      mixed_attainment_pct: Number(fleet.attainmentPct.toFixed(2)),
      one_type: oneType.text,
      one_type_per_hour: Number(oneType.pricePerHour.toFixed(2)),
      one_type_attainment_pct: Number(oneType.attainmentPct.toFixed(2)),
      cheaper_pct: Number(cheaperPct.toFixed(1)),
    })}\n`,
  );
  return { cheaperPct };
}

const rates = options.rates.split(",").map(Number);
for (const mix of mixes) {
  const found = rates.map((requestsPerS) => compare({ ...mix, requestsPerS }));
  const mean = found.reduce((sum, { cheaperPct }) => sum + cheaperPct, 0) / found.length;
  const most = Math.max(...found.map(({ cheaperPct }) => cheaperPct));
  process.stdout.write(
    `${JSON.stringify({ mean_of: mix.name, cheaper_pct: Number(mean.toFixed(1)), most_cheaper_pct: Number(most.toFixed(1)) })}\n`,
  );
}
