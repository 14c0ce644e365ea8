/** `headroom size serve`: replicas, latency and cost of an endpoint under traffic. */
import type { Impossible, ServingOnAccelerator, ServingPlanRow, ServingReport, ServingSizing } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { duration, rate, settings, wholeNumber } from "../simulate/amount-options.ts";
import { groupedRefusals, refusalLine, refusalSentence, type RefusalGroup, type TypeRefusal } from "./refusals.ts";
import { acceleratorName, catalogueFile, jsonFile, modelChoice, needed, numberFormat } from "./model-options.ts";
import { byteQuantity, given, percentText, positive, positiveDuration, significant } from "./quantities.ts";

export interface ServingOptions {
  readonly model?: string;
  readonly accelerator?: string;
  readonly catalogue?: string;
  readonly weights?: string;
  readonly kv?: string;
  readonly prompt?: string;
  readonly output?: string;
  readonly prefixHits?: string;
  readonly requests?: string;
  readonly ttft?: string;
  readonly tpot?: string;
  readonly share?: string;
  readonly price?: string;
  readonly layout?: string;
  readonly profile?: string;
  readonly weightRate?: string;
  readonly provisioning?: string;
  readonly image?: string;
  readonly storageRate?: string;
  readonly starting?: string;
  readonly json?: true;
}

const tokensMax = 100_000_000;
const STARTING_MAX = 1_000_000;

export async function runSizeServing(context: CommandContext, options: ServingOptions): Promise<ExitCode> {
  const perf = await import("@headroom/perf");
  const open = await questionOf(context, options);
  const { accelerator } = open;
  if (accelerator === undefined) return showComparison(context, perf.compareServing(open), options);
  const answer = perf.sizeServing({ ...open, accelerator });
  if (options.json === true) context.print(JSON.stringify(answer, null, 2));
  if (answer.kind === "serving") {
    if (options.json !== true) context.print(...servingLines(answer, defaultsTaken(options, open), context));
    return exitCode.ok;
  }
  if (options.json !== true) {
    context.note(
      answer.kind === "unknown"
        ? `Not sized: ${answer.reasons.join("; ")}.`
        : `${answer.reason}. Nearest: ${answer.nearest}.`,
    );
  }
  return exitCode.unsatisfied;
}

/** Answers for all accelerators of the catalogue, side by side. */
async function showComparison(
  context: CommandContext,
  compared: readonly ServingOnAccelerator[] | Impossible,
  options: ServingOptions,
): Promise<ExitCode> {
  if ("kind" in compared) {
    context.note(`${compared.reason}. Nearest: ${compared.nearest}.`);
    return exitCode.unsatisfied;
  }
  const [first, ...others] = groupedRefusals(compared.flatMap(refusalOf));
  if (options.json === true) context.print(JSON.stringify({ kind: "servingByAccelerator", items: compared }, null, 2));
  else if (first?.accelerators.length === compared.length && first.nearest !== undefined) {
    context.note(refusalSentence(first));
  } else context.print(...comparisonLines(compared, first === undefined ? [] : [first, ...others], context));
  return compared.some(({ answer }) => answer.kind === "serving") ? exitCode.ok : exitCode.unsatisfied;
}

function refusalOf({ accelerator, answer }: ServingOnAccelerator): readonly TypeRefusal[] {
  if (answer.kind === "serving") return [];
  if (answer.kind === "unknown") return [{ accelerator, reason: answer.reasons.join("; ") }];
  return [{ accelerator, reason: answer.reason, nearest: answer.nearest }];
}

function comparisonLines(
  all: readonly ServingOnAccelerator[],
  refusals: readonly RefusalGroup[],
  { terminal, paint }: CommandContext,
): string[] {
  const columns = [
    { title: "ACCELERATOR" },
    ...planTitles.map((title) => ({ title, align: "right" }) as const),
    { title: "LAYOUT" },
  ];
  const rows = all.flatMap(({ accelerator, answer }) => {
    const plan = answer.kind === "serving" ? answer.plans[0] : undefined;
    return plan === undefined ? [] : [[accelerator, ...planCells(plan), layoutText(plan.layout)]];
  });
  return [
    ...(rows.length === 0 ? [] : [...tableLines(columns, rows, terminal.stdout, paint), ""]),
    ...refusals.map((group) => refusalLine(group, all.length)),
    ...(refusals.length === 0 ? [] : [""]),
    rows.length === 0
      ? "Pass --accelerator NAME to see the nearest objective that a type can meet."
      : "Pass --accelerator NAME to see all layouts, memory, the interval and the cold start.",
  ];
}

type OpenServing = Omit<ServingSizing, "accelerator"> & { readonly accelerator: string | undefined };

/** Above this rate an answer would be about more accelerators than exist, so the value is probably a mistake. */
const REQUESTS_PER_S_MAX = 10_000_000;

function requestRate(text: string): number {
  const rate = positive(text, "--requests");
  if (rate <= REQUESTS_PER_S_MAX) return rate;
  throw new CliError(`--requests: at most ${REQUESTS_PER_S_MAX} requests a second, got ${text}`, exitCode.usage);
}

async function questionOf(context: CommandContext, options: ServingOptions): Promise<OpenServing> {
  const tokens = (text: string, what: string): number => wholeNumber(text, what, { min: 1, max: tokensMax });
  const share = (text: string | undefined, what: string, otherwise: number): number =>
    given(text, (value) => rate(value, what) / 10_000, otherwise);
  const profile = options.profile === undefined ? undefined : await jsonFile(context, options.profile);
  const model = await modelChoice(context, options.model);
  const { checkpointFormat } = await import("@headroom/perf");
  return {
    model,
    accelerator:
      options.accelerator === undefined && profile === undefined
        ? undefined
        : await acceleratorName(options.accelerator, profile),
    catalogue: await catalogueFile(context, options.catalogue),
    weights: options.weights === undefined ? checkpointFormat(model) : await numberFormat(options.weights, "--weights"),
    kv: options.kv === undefined ? undefined : await numberFormat(options.kv, "--kv"),
    promptTokens: given(options.prompt, (text) => tokens(text, "--prompt"), 1000),
    outputTokens: given(options.output, (text) => tokens(text, "--output"), 250),
    prefixHitShare: share(options.prefixHits, "--prefix-hits", 0),
    requestsPerS: requestRate(needed(options.requests, "--requests", "20")),
    ttftMs: given(options.ttft, (text) => positiveDuration(text, "--ttft"), 1000),
    tpotMs: given(options.tpot, (text) => positiveDuration(text, "--tpot"), 50),
    share: given(options.share, promisedShare, 0.95),
    pricePerAcceleratorHour: given(options.price, (text) => positive(text, "--price"), 0),
    layout: given(options.layout, layoutOf, undefined),
    profile,
    weightsGbPerS: given(options.weightRate, (text) => positive(text, "--weight-rate"), 5),
    provisioningSeconds: given(options.provisioning, (text) => duration(text, "--provisioning") / 1000, undefined),
    imageGb: given(options.image, (text) => byteQuantity(text, "--image") / 1e9, undefined),
    storageGbPerS: given(options.storageRate, (text) => positive(text, "--storage-rate"), undefined),
    startingReplicas: given(
      options.starting,
      (text) => wholeNumber(text, "--starting", { min: 1, max: STARTING_MAX }),
      undefined,
    ),
  };
}

/** Share of requests that must meet the objective. 100% is not possible: waiting times have an infinite tail. */
function promisedShare(text: string): number {
  const share = rate(text, "--share") / 10_000;
  if (share >= 0.5 && share <= 0.9999) return share;
  throw new CliError(`--share: expected 50% to 99.99%, got ${JSON.stringify(text)}`, exitCode.usage);
}

function layoutOf(text: string): ServingPlanRow["layout"] {
  const found = settings(text, "--layout", ["tp", "pp", "dp", "ep"]);
  const width = (key: string): number =>
    given(found.get(key), (value) => wholeNumber(value, `--layout: ${key}`, { min: 1, max: 4096 }), 1);
  return { tensor: width("tp"), pipeline: width("pp"), attentionData: width("dp"), expert: width("ep") };
}

const layoutText = ({ tensor, pipeline, attentionData, expert }: ServingPlanRow["layout"]): string =>
  [
    ["tp", tensor],
    ["pp", pipeline],
    ["dp", attentionData],
    ["ep", expert],
  ]
    .filter(([, width]) => Number(width) > 1)
    .map(([name, width]) => `${name}${width}`)
    .join(" ") || "one accelerator";

const planTitles = ["REPLICAS", "GPUS", "REQ/S EACH", "TTFT", "TPOT", "PER HOUR", "PER M TOKENS"];

function planCells(plan: ServingPlanRow): string[] {
  const money = (value: number): string => (value > 0 ? `$${significant(value)}` : "");
  return [
    String(plan.replicaCount),
    String(plan.acceleratorCount),
    significant(plan.requestsPerSPerReplica),
    `${significant(plan.ttftMs)} ms`,
    `${significant(plan.tpotMs)} ms`,
    money(plan.costPerHour),
    money(plan.costPerMillionOutputTokens),
  ];
}

function servingLines(
  { model, accelerator, plans, best, rejected, disaggregated, isCalibrated, chosen, evidence }: ServingReport,
  defaults: readonly string[],
  context: CommandContext,
) {
  const columns = [{ title: "LAYOUT" }, ...planTitles.map((title) => ({ title, align: "right" }) as const)];
  const rows = plans.map((plan) => [layoutText(plan.layout), ...planCells(plan)]);
  const { memory, step, tpotIntervalMs, ttftIntervalMs, coldStart } = best;
  const share = (bytes: number): string => percentText(bytes / memory.totalBytes);
  return [
    `${model.name} on ${accelerator}${isCalibrated ? ", calibrated" : ""}; the cheapest comes first`,
    ...tableLines(columns, rows, context.terminal.stdout, context.paint),
    "",
    ...pairLines(
      [
        ["of the first", `${significant(best.batch)} sequences at the same time (${significant(best.batchLimit)} fit)`],
        [
          "memory",
          `weights ${share(memory.weightBytes)}, cache ${share(memory.kvCacheBytes)}, ` +
            `step ${share(memory.activationBytes)}, runtime ${share(memory.runtimeBytes)}, kept free ${share(memory.unusedBytes)}`,
        ],
        ["step", stepText(step)],
        [
          "80% interval",
          `${significant(ttftIntervalMs.low)} to ${significant(ttftIntervalMs.high)} ms to the first token, ` +
            `${significant(tpotIntervalMs.low)} to ${significant(tpotIntervalMs.high)} ms for each further token` +
            (evidence.isNear
              ? ""
              : `; no similar configuration was measured, the nearest is ${evidence.nearest ?? "unknown"}`),
        ],
        ["defaults chosen", [...chosen, ...defaults].join("; ")],
        ["cold start", coldStartText(coldStart)],
        ["disaggregated", disaggregatedText(disaggregated)],
      ],
      context.paint,
    ),
    ...rejected.map(({ layout, reason }) => context.paint("dim", `not ${layoutText(layout)}: ${reason}`)),
  ];
}

function defaultsTaken(options: ServingOptions, { weights }: Pick<ServingSizing, "weights">): readonly string[] {
  const defaults = [
    [options.weights, `${weights} weights, as in the published checkpoint`],
    [options.prompt, "1,000 prompt tokens"],
    [options.output, "250 output tokens"],
    [options.ttft, "1 s to the first token"],
    [options.tpot, "50 ms for each further token"],
    [options.share, "95% of the requests"],
  ] as const;
  return defaults.filter(([stated]) => stated === undefined).map(([, text]) => text);
}

function coldStartText(start: ServingReport["best"]["coldStart"]): string {
  const parts = [
    ["node", start.provisioningS],
    ["image", start.imageS],
    ["weights", start.weightsS],
    ["engine", start.engineS],
  ] as const;
  const named = parts.filter(([, seconds]) => seconds > 0).map(([name, seconds]) => `${name} ${significant(seconds)}`);
  return `${significant(start.totalS)} s (${named.join(", ")}); ${storeText(start)}`;
}

function storeText({ startingReplicas, storageGbPerS }: ServingReport["best"]["coldStart"]): string {
  const replicas = startingReplicas === 1 ? "one replica starts" : `${startingReplicas} replicas start at once`;
  return storageGbPerS === null
    ? `${replicas}, and the store keeps up (pass --storage-rate to limit it)`
    : `${replicas} and ${startingReplicas === 1 ? "reads" : "share"} a store of ${significant(storageGbPerS)} GB/s`;
}

/** Disaggregated serving: prefill and decode run on separate workers, under the same latency objective. */
function disaggregatedText(disaggregated: ServingReport["disaggregated"]): string {
  if (disaggregated.kind === "impossible")
    return `separate workers for prompts and answers are not worth it: ${disaggregated.reason}`;
  const { prefill, prefillCount, decode, decodeCount, acceleratorCount, latency, costPerHour } = disaggregated;
  const cost = costPerHour > 0 ? `, $${significant(costPerHour)} per hour` : "";
  return (
    `${prefillCount} for prompts (${layoutText(prefill)}) and ${decodeCount} for answers (${layoutText(decode)}): ` +
    `${acceleratorCount} accelerators, ${significant(latency.ttftMs)} and ${significant(latency.tpotMs)} ms${cost}`
  );
}

function stepText(step: ServingReport["best"]["step"]): string {
  const parts = [
    ["weights", step.linearMs],
    ["experts", step.expertMs],
    ["attention", step.attentionMs],
    ["exchange", step.exchangeMs],
    ["kernel floors", step.floorMs],
    ["host", step.hostMs],
  ] as const;
  const named = parts.filter(([, ms]) => ms > 0).map(([name, ms]) => `${name} ${significant(ms)}`);
  return `${significant(step.totalMs)} ms: ${named.join(", ")}`;
}
