/**
 * The demo's workload: an endless seeded stream of jobs, many in working hours and few at night, so that the queue
 * grows and shrinks as in a real cluster. The same seed gives the same stream in every browser.
 */
import { commandId, teamName } from "@headroom/model";
import type { Command, WorkloadSpec } from "@headroom/model";
import { drawBelow, drawExponential, type Script } from "@headroom/sim";
import { DURATION_VARIABLE } from "./demo-variable.ts";

interface Template {
  readonly name: string;
  readonly team: string;
  readonly kind: "train" | "batch";
  /** Weight of this job kind, relative to the others. */
  readonly weight: number;
  readonly workers: readonly number[];
  readonly accelerators: number;
  readonly types: readonly string[];
  /** Run time in minutes, which is doubled at random up to `octaves` times. */
  readonly minutes: number;
  readonly octaves: number;
  readonly priority: number;
  readonly run: string;
}

const H100 = ["H100-SXM"];
const H200 = ["H200-SXM"];
const EITHER = ["H100-SXM", "H200-SXM"];

const templates: readonly Template[] = [
  {
    name: "pretrain-7b",
    team: "research/language",
    kind: "train",
    weight: 3,
    workers: [4, 8, 8, 12],
    accelerators: 8,
    types: H100,
    minutes: 240,
    octaves: 3,
    priority: 10,
    run: "torchrun train.py --config 7b.yaml",
  },
  {
    name: "moe-ablation",
    team: "research/language",
    kind: "train",
    weight: 9,
    workers: [2, 4, 4, 8],
    accelerators: 8,
    types: EITHER,
    minutes: 45,
    octaves: 4,
    priority: 0,
    run: "torchrun ablate.py",
  },
  {
    name: "tokenize",
    team: "research/language",
    kind: "batch",
    weight: 6,
    workers: [1],
    accelerators: 0,
    types: [],
    minutes: 8,
    octaves: 2,
    priority: 0,
    run: "python tokenize_shard.py",
  },
  {
    name: "diffusion-hr",
    team: "research/vision",
    kind: "train",
    weight: 7,
    workers: [2, 2, 4, 8],
    accelerators: 8,
    types: H100,
    minutes: 60,
    octaves: 4,
    priority: 0,
    run: "torchrun diffusion.py",
  },
  {
    name: "vit-sweep",
    team: "research/vision",
    kind: "batch",
    weight: 8,
    workers: [1],
    accelerators: 2,
    types: H100,
    minutes: 20,
    octaves: 3,
    priority: -5,
    run: "python sweep.py",
  },
  {
    name: "red-team-eval",
    team: "research/safety",
    kind: "batch",
    weight: 8,
    workers: [1],
    accelerators: 4,
    types: EITHER,
    minutes: 15,
    octaves: 3,
    priority: 5,
    run: "python evaluate.py",
  },
  {
    name: "reranker-ft",
    team: "product/search",
    kind: "train",
    weight: 14,
    workers: [1, 2, 2, 4],
    accelerators: 8,
    types: EITHER,
    minutes: 30,
    octaves: 4,
    priority: 5,
    run: "torchrun finetune.py",
  },
  {
    name: "embed-refresh",
    team: "product/search",
    kind: "batch",
    weight: 7,
    workers: [1],
    accelerators: 4,
    types: H200,
    minutes: 30,
    octaves: 3,
    priority: 0,
    run: "python embed.py",
  },
  {
    name: "asr-large",
    team: "product/speech",
    kind: "train",
    weight: 10,
    workers: [1, 2, 4],
    accelerators: 8,
    types: H100,
    minutes: 60,
    octaves: 4,
    priority: 0,
    run: "torchrun asr.py",
  },
  {
    name: "notebook-job",
    team: "platform",
    kind: "train",
    weight: 34,
    workers: [1],
    accelerators: 1,
    types: EITHER,
    minutes: 10,
    octaves: 5,
    priority: 0,
    run: "python job.py",
  },
  {
    name: "debug-pair",
    team: "research/language",
    kind: "train",
    weight: 20,
    workers: [1],
    accelerators: 2,
    types: EITHER,
    minutes: 15,
    octaves: 5,
    priority: 0,
    run: "torchrun debug.py",
  },
  {
    name: "burn-in",
    team: "platform",
    kind: "train",
    weight: 4,
    workers: [1],
    accelerators: 8,
    types: H200,
    minutes: 20,
    octaves: 2,
    priority: -10,
    run: "./burn-in --minutes 20",
  },
];
const totalWeight = templates.reduce((sum, { weight }) => sum + weight, 0);

const HOUR_MS = 3_600_000;
/** Arrivals in percent of the daily mean: 64 at night, 136 in working hours. */
const loadPercent = (atMs: number): number => {
  const hour = Math.floor(atMs / HOUR_MS) % 24;
  return hour >= 8 && hour < 20 ? 136 : 64;
};

export interface StreamOptions {
  readonly seed: number;
  readonly startAtMs: number;
  readonly accelerators: number;
  /** Accelerator time that jobs request, in percent of the fleet's, averaged over a day. */
  readonly loadPercent: number;
}

interface Arrival {
  readonly atMs: number;
  readonly spec: WorkloadSpec;
}

/** Number of jobs from which the mean accelerator time of a job is computed: enough for an error of one percent. */
const SAMPLE = 3_000;

/** Number of jobs, more than any visit needs. The stream is generated when it is read. */
const ENDLESS = 1_000_000_000;

export function demoStream(options: StreamOptions): Script {
  const { seed, startAtMs, accelerators } = options;
  let sampledMs = 0;
  for (let index = 0; index < SAMPLE; index++) sampledMs += acceleratorMs(specAt(seed, index));
  const meanGapMs = ((sampledMs / SAMPLE) * 100) / (accelerators * options.loadPercent);
  const arrivals: Arrival[] = [];
  const at = (index: number): Arrival => {
    for (let next = arrivals.length; next <= index; next++) {
      const lastMs = arrivals[next - 1]?.atMs ?? startAtMs;
      const gap = meanGapMs * drawExponential({ seed, sequence: next, purpose: "gap" });
      arrivals.push({ atMs: lastMs + Math.ceil((gap * 100) / loadPercent(lastMs)), spec: specAt(seed, next) });
    }
    return arrivals[index] as Arrival;
  };
  return {
    length: ENDLESS,
    atMs: (index) => at(index).atMs,
    input: (index): Command => ({
      kind: "submitWorkload",
      commandId: commandId(`stream-${index}`),
      actor: `${at(index).spec.team.split("/").at(-1) ?? "user"}-user`,
      idempotencyKey: null,
      spec: at(index).spec,
    }),
  };
}

function acceleratorMs(spec: WorkloadSpec): number {
  const tasks = spec.kind === "batch" ? spec.taskCount : 1;
  return tasks * spec.gang.workers * spec.gang.accelerators * simulatedDurationMs(spec);
}

/** Run time of work that does not state one, such as a document written for a real fleet. */
const DURATION_DEFAULT_S = 600;

export function simulatedDurationMs(spec: WorkloadSpec): number {
  const seconds = Number(spec.env[DURATION_VARIABLE] ?? DURATION_DEFAULT_S);
  return 1000 * (Number.isSafeInteger(seconds) && seconds > 0 ? seconds : DURATION_DEFAULT_S);
}

function templateAt(seed: number, sequence: number): Template {
  let rest = drawBelow({ seed, sequence, purpose: "template" }, totalWeight);
  for (const template of templates) {
    if (rest < template.weight) return template;
    rest -= template.weight;
  }
  return templates[0] as Template;
}

function specAt(seed: number, sequence: number): WorkloadSpec {
  const template = templateAt(seed, sequence);
  const below = (bound: number, purpose: string): number => drawBelow({ seed, sequence, purpose }, bound);
  let seconds = template.minutes * 60;
  for (let octave = below(template.octaves + 1, "octave"); octave > 0; octave--) seconds *= 2;
  seconds = Math.round((seconds * (70 + below(60, "spread"))) / 100);
  const { accelerators } = template;
  const common = {
    name: `${template.name}-${1000 + sequence}`,
    team: teamName(template.team),
    run: template.run,
    dir: null,
    env: { [DURATION_VARIABLE]: String(seconds) },
    gang: {
      workers: template.workers[below(template.workers.length, "workers")] ?? 1,
      accelerators,
      coresMilli: accelerators === 0 ? 8_000 : accelerators * 12_000,
      memoryMib: accelerators === 0 ? 32_768 : accelerators * 196_608,
    },
    acceleratorTypes: template.types,
    priority: template.priority,
    // Users request about twice the time they need, in whole hours.
    walltimeMs: HOUR_MS * Math.ceil((seconds * 2) / 3600),
    retries: { max: 3, backoffMs: 60_000, backoffMaxMs: 1_800_000 },
    graceTimeoutMs: 60_000,
    checkpointDir: null,
  };
  if (template.kind === "train") return { kind: "train", ...common };
  return { kind: "batch", ...common, taskCount: 4 + below(13, "tasks") };
}
