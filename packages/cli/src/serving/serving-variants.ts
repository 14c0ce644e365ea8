/** Serving configurations from options and from `--variant key=value,…`, which overrides some of them. */
import type { Accelerator, ModelArchitecture, NumberFormat } from "@headroom/perf";
import type { AdapterLoading, ReplicaGroup, RequestTrace, ServingVariant } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import { duration, settings, wholeNumber } from "../simulate/amount-options.ts";
import { positiveDuration } from "../size/quantities.ts";

type Perf = typeof import("@headroom/perf");

/** The options of a variant as text. `--variant` replaces some of them. */
export interface ServingChoices {
  readonly model: string;
  readonly accelerator: string;
  readonly replicas: string;
  readonly weights: string;
  readonly kv: string;
  readonly tensor: string;
  readonly sequences: string;
  readonly stepTokens: string;
  readonly router: string;
  readonly store: string;
  readonly coldStart: string;
  readonly loadTime: string;
}

/** Names of the options that `--variant` can change. */
const keys: Readonly<Record<string, keyof ServingChoices>> = {
  model: "model",
  accelerator: "accelerator",
  replicas: "replicas",
  weights: "weights",
  kv: "kv",
  tp: "tensor",
  sequences: "sequences",
  "step-tokens": "stepTokens",
  router: "router",
  store: "store",
  "cold-start": "coldStart",
  "load-time": "loadTime",
};

const variantsMax = 16;
const replicasMax = 4096;

/**
 * The options as given, and one set of options for each `--variant`. The text of `--variant` is the name of its set.
 */
export function variantChoices(
  base: ServingChoices,
  texts: readonly string[],
): { readonly name: string; readonly choices: ServingChoices }[] {
  if (texts.length >= variantsMax) throw new CliError(`--variant: at most ${variantsMax - 1}`, exitCode.usage);
  const changed = texts.map((text) => {
    const found = settings(text, "--variant", Object.keys(keys));
    const entries = [...found].map(([key, value]) => [keys[key] ?? "", value] as const);
    return { name: text, choices: { ...base, ...Object.fromEntries(entries) } };
  });
  return [{ name: "as given", choices: base }, ...changed];
}

export interface VariantSetting {
  readonly perf: Perf;
  readonly trace: RequestTrace;
  readonly isImages: boolean;
  readonly slo: ServingVariant["slo"];
  readonly seed: number;
  readonly frontEndMs: number;
}

function formatOf(perf: Perf, text: string, what: string): NumberFormat {
  const found = perf.numberFormats.find((format) => format === text);
  if (found !== undefined) return found;
  throw new CliError(
    `${what}: expected one of ${perf.numberFormats.join(", ")}, got ${JSON.stringify(text)}`,
    exitCode.usage,
  );
}

function acceleratorOf(perf: Perf, name: string): Accelerator {
  const found = perf.findAccelerator(name);
  if (found !== undefined) return found;
  throw new CliError(
    `accelerator ${JSON.stringify(name)} is not in the catalogue; list it with: headroom size catalogue`,
    exitCode.usage,
  );
}

function modelOf(perf: Perf, name: string): ModelArchitecture {
  const found = perf.findModel(name);
  if (found !== undefined) return found;
  throw new CliError(
    `model ${JSON.stringify(name)} is not in the catalogue; list it with: headroom size catalogue`,
    exitCode.usage,
  );
}

/** Number of replicas by accelerator type, from `8` or `4*H100+4*L40S`. */
function mixOf(choices: ServingChoices): { readonly count: number; readonly accelerator: string }[] {
  return choices.replicas.split("+").map((part) => {
    const [countText = "", ...rest] = part.split("*");
    const count = wholeNumber(countText, "replicas", { min: 1, max: replicasMax });
    return { count, accelerator: rest.length === 0 ? choices.accelerator : rest.join("*") };
  });
}

function meanTokens({ requests }: RequestTrace): number {
  const sum = requests.reduce((total, one) => total + one.promptTokens + one.outputTokens / 2, 0);
  return Math.max(1, Math.round(sum / Math.max(1, requests.length)));
}

function languageGroup(
  { perf, trace }: VariantSetting,
  choices: ServingChoices,
  { count, accelerator }: { readonly count: number; readonly accelerator: string },
): ReplicaGroup {
  const device = acceleratorOf(perf, accelerator);
  const whole = (text: string, what: string, max: number): number => wholeNumber(text, what, { min: 1, max });
  const tensor = whole(choices.tensor, "tp", 64);
  const replica = {
    model: modelOf(perf, choices.model),
    accelerator: device,
    formats: perf.servingFormats(
      formatOf(perf, choices.weights, "weights"),
      choices.kv === "" ? undefined : formatOf(perf, choices.kv, "kv"),
    ),
    layout: { tensor, pipeline: 1, attentionData: 1, expert: 1 },
    engine: {
      ...perf.currentEngine,
      stepTokensMax: whole(choices.stepTokens, "step-tokens", 1_000_000),
      sequencesMax: whole(choices.sequences, "sequences", 65_536),
    },
  };
  const usual = meanTokens(trace);
  const [obstacle] = perf.obstacles(replica, { promptTokens: usual, outputTokens: 1, prefixHitShare: 0 });
  if (obstacle !== undefined) {
    throw new CliError(`${choices.model} on ${device.name}: ${obstacle.message}`, exitCode.unsatisfied);
  }
  const built = perf.buildReplica(replica);
  const limits = perf.replicaLimits(built, usual);
  return {
    name: device.name,
    count,
    acceleratorsPerReplica: tensor,
    costs: perf.replicaCosts(built, perf.fittedInference, usual),
    limits,
    zone: "",
  };
}

/** Replicas of an image model. They serve one request at a time; the trace states its duration. */
function imageGroup({ perf }: VariantSetting, stepMs: number, count: number): ReplicaGroup {
  return {
    name: "image",
    count,
    acceleratorsPerReplica: 1,
    costs: { tokensMs: Float64Array.of(stepMs, stepMs), contextMs: 0, pairMs: 0, sampledMs: 0 },
    limits: { ...perf.usualLimits, sequencesMax: 1, stepTokensMax: 1, blockCount: 1 << 24, isPrefixCached: false },
    zone: "",
  };
}

/**
 * Builds the serving configuration from the options. Throws a CliError for an invalid option or a model that does not
 * fit.
 */
export async function servingVariant(
  name: string,
  choices: ServingChoices,
  setting: VariantSetting,
): Promise<ServingVariant> {
  const { routingPolicies, imageStepMs } = await import("@headroom/sim");
  const router = routingPolicies.find((policy) => policy === choices.router);
  if (router === undefined) {
    throw new CliError(
      `router: expected one of ${routingPolicies.join(", ")}, got ${JSON.stringify(choices.router)}`,
      exitCode.usage,
    );
  }
  const mix = mixOf(choices);
  const groups = setting.isImages
    ? mix.map(({ count }) => imageGroup(setting, imageStepMs, count))
    : mix.map((part) => languageGroup(setting, choices, part));
  const coldStartMs = choices.coldStart === "" ? 0 : positiveDuration(choices.coldStart, "cold-start");
  const pages = choices.store === "" ? 0 : storePages(choices.store);
  const adapters: AdapterLoading = {
    slots: 1,
    loadMs: duration(choices.loadTime, "load-time"),
    isExclusive: true,
  };
  return {
    name,
    groups: groups.map((group, index) => ({ ...group, name: `${group.name}-${index}` })),
    router,
    seed: setting.seed,
    start: coldStartMs > 0 ? { kind: "cold", coldStartMs } : { kind: "warm", coldStartMs: 0 },
    store: pages > 0 ? { pageCount: pages, pageLoadMs: 0 } : undefined,
    adapters: setting.isImages ? adapters : undefined,
    isScheduledAhead: true,
    frontEndMs: setting.frontEndMs,
    slo: setting.slo,
  };
}

function storePages(text: string): number {
  return text === "unlimited" ? Infinity : wholeNumber(text, "store", { min: 1, max: 100_000_000 });
}
