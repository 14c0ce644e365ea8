/**
 * `npm run bench autoscale -- FILE [--json] [--skip-broken] [--model llama-3.1-70b --accelerator H100 --tensor N --ttft 2s --tpot 100ms
 * --cold-start 60s --attainment 99 --min 1 --max 64]`: an endpoint under Headroom's scaling rule and under those of
 * others, on a trace of requests (CSV with TIMESTAMP, ContextTokens and GeneratedTokens). Prints one record for each
 * policy; the progress goes to the standard error. Without FILE the traffic is
 * generated (`generated-traffic.ts`): `--traffic bursts --hours 2 --seed 1`.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { parseArgs } from "node:util";
import {
  buildReplica,
  currentEngine,
  findAccelerator,
  findModel,
  fittedInference,
  obstacles,
  replicaCosts,
  replicaLimits,
  servingFormats,
} from "@headroom/perf";
import { importAzure } from "@headroom/sim";
import type { ReplicaGroup, RequestTrace } from "@headroom/sim";
import { compareScalers, lengthProblem } from "../src/index.ts";
import type { ElasticSetting, ScaledResult } from "../src/index.ts";
import { generatedTraffic, patternNames } from "./generated-traffic.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: "string", default: "llama-3.1-70b" },
    accelerator: { type: "string", default: "H100" },
    tensor: { type: "string", default: "0" },
    ttft: { type: "string", default: "2s" },
    tpot: { type: "string", default: "100ms" },
    "cold-start": { type: "string", default: "60s" },
    attainment: { type: "string", default: "99" },
    min: { type: "string", default: "1" },
    max: { type: "string", default: "64" },
    traffic: { type: "string", default: "bursts" },
    "skip-broken": { type: "boolean", default: false },
    hours: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function durationMs(text: string, option: string): number {
  const [, count = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = unitsMs[unit];
  if (factor === undefined) fail(`--${option}: expected a duration such as 60s, got ${JSON.stringify(text)}`);
  return Number(count) * factor;
}

function whole(text: string, option: string, max: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0 || value > max)
    fail(`--${option}: expected a whole number up to ${max}, got ${JSON.stringify(text)}`);
  return value;
}

function traceIn(file: string | undefined): RequestTrace {
  if (file === undefined) {
    const hours = options.hours === undefined ? undefined : Number(options.hours);
    if (hours !== undefined && !(hours > 0 && hours <= 10_000)) fail("--hours: expected a number up to 10000");
    return (
      generatedTraffic(options.traffic, whole(options.seed, "seed", 1e9), hours) ??
      fail(`--traffic ${options.traffic}: choose one of ${patternNames.join(", ")}`)
    );
  }
  const skipBroken = options["skip-broken"];
  let imported: ReturnType<typeof importAzure>;
  try {
    imported = importAzure({ file, lines: linesOf(file) }, { skipBroken });
  } catch (error) {
    fail(`${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
  const { problems, leftOut, brokenCount } = imported.report;
  if (imported.kind !== "imported") {
    const first = problems.slice(0, 3).map(({ line, message }) => `\n  line ${line}: ${message}`);
    fail(
      `${file}: ${imported.reason}${first.join("")}${brokenCount > 0 ? "\nleave such rows out with --skip-broken" : ""}`,
    );
  }
  const left = Object.entries({ ...leftOut, broken: brokenCount }).filter(([, count]) => count > 0);
  if (left.length > 0) process.stderr.write(`left out: ${left.map(([why, count]) => `${count} ${why}`).join(", ")}\n`);
  return imported.trace;
}

/** The lines of a file of any size. */
function* linesOf(file: string): Generator<string> {
  const descriptor = openSync(file, "r");
  try {
    const decoder = new StringDecoder("utf8");
    const buffer = Buffer.alloc(1_048_576);
    let rest = "";
    for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer)) {
      const lines = (rest + decoder.write(buffer.subarray(0, count))).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    yield rest + decoder.end();
  } finally {
    closeSync(descriptor);
  }
}

const meanTokens = ({ requests }: RequestTrace): number =>
  Math.max(
    1,
    Math.round(
      requests.reduce((sum, one) => sum + one.promptTokens + one.outputTokens / 2, 0) / Math.max(1, requests.length),
    ),
  );

/**
 * A replica of the model on as few accelerators of the type as hold it with room for requests, or on `--tensor`. Its
 * steps take as many tokens as keep a full step within the objective for the time per token.
 */
function replicaGroup(trace: RequestTrace, tpotMs: number): ReplicaGroup {
  const model = findModel(options.model) ?? fail(`--model ${options.model}: list models with: headroom size catalogue`);
  const accelerator =
    findAccelerator(options.accelerator) ??
    fail(`--accelerator ${options.accelerator}: list accelerators with: headroom size catalogue`);
  const usual = meanTokens(trace);
  const lengths = Float64Array.from(trace.requests, (one) => one.promptTokens + one.outputTokens).toSorted();
  // Room for 16 of the long requests. The longest one of all is refused where it does not fit.
  const long = lengths[Math.ceil(0.99 * lengths.length) - 1] ?? 1;
  const asked = whole(options.tensor, "tensor", 64);
  for (const tensor of asked > 0 ? [asked] : [1, 2, 4, 8, 16]) {
    const layout = { tensor, pipeline: 1, attentionData: 1, expert: 1 };
    const formats = servingFormats("bf16", undefined);
    for (let stepTokensMax = 8192; stepTokensMax >= 128; stepTokensMax /= 2) {
      const engine = { ...currentEngine, stepTokensMax, sequencesMax: Math.min(stepTokensMax, 1024) };
      const replica = { model, accelerator, formats, layout, engine };
      if (obstacles(replica, { promptTokens: usual, outputTokens: 1, prefixHitShare: 0 }).length > 0) break;
      const built = buildReplica(replica);
      const limits = replicaLimits(built, usual);
      const costs = replicaCosts(built, fittedInference, usual);
      if ((costs.tokensMs.at(-1) ?? 0) > tpotMs && stepTokensMax > 128) continue;
      if (limits.blockCount * limits.blockTokens < 16 * long && asked === 0) break;
      return { name: accelerator.name, count: 1, acceleratorsPerReplica: tensor, costs, limits, zone: "" };
    }
  }
  return fail(`${options.model} does not fit 16 ${options.accelerator}`);
}

const trace = traceIn(positionals[0]);
if (trace.requests.length === 0) fail("the trace has no request");
const tooLong = lengthProblem(trace);
if (tooLong !== null) fail(tooLong);
const attainmentPct = Number(options.attainment);
if (!(attainmentPct > 0 && attainmentPct <= 100)) fail("--attainment: expected a percentage up to 100");
const bounds = { min: whole(options.min, "min", 1024), max: Math.max(1, whole(options.max, "max", 1024)) };
const slo = { ttftMs: durationMs(options.ttft, "ttft"), tpotMs: durationMs(options.tpot, "tpot") };
const setting: ElasticSetting = {
  group: replicaGroup(trace, slo.tpotMs),
  slo,
  bounds,
  initialReplicas: Math.max(1, bounds.min),
  coldStartMs: durationMs(options["cold-start"], "cold-start"),
  tickMs: 1000,
  frontEndMs: 5,
  router: "least-work",
};
const { acceleratorsPerReplica } = setting.group;
process.stderr.write(`${trace.requests.length} requests; a replica has ${acceleratorsPerReplica} accelerators\n`);
const { headroom, learnt, optimum, fixed, fixedReplicas, baselines } = compareScalers(
  trace,
  setting,
  attainmentPct,
  (text) => process.stderr.write(`  ${text}\n`),
);
const record = (result: ScaledResult): Readonly<Record<string, unknown>> => ({
  policy: result.policy,
  attainment_pct: Number(result.attainmentPct.toFixed(3)),
  goodput_per_accelerator: Number(result.goodputPerAcceleratorHour.toFixed(2)),
  accelerator_hours: Number(result.acceleratorHours.toFixed(3)),
  p90_ttft_ms: Number(result.p90TtftMs.toFixed(1)),
  p99_ttft_ms: Number(result.p99TtftMs.toFixed(1)),
  hours_beside_optimum: Number((result.acceleratorHours / optimum.acceleratorHours).toFixed(3)),
  goodput_beside_static: Number((result.goodputPerAcceleratorHour / fixed.goodputPerAcceleratorHour).toFixed(3)),
  replicas_max: result.replicasMax,
  reversals: result.reversals,
});
for (const result of [headroom, learnt, optimum, { ...fixed, policy: `static(${fixedReplicas})` }, ...baselines])
  process.stdout.write(`${JSON.stringify(record(result))}\n`);
