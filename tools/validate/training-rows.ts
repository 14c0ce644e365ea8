/**
 * Reads rows of training measurements. Missing fields are filled by rules that depend on the configuration of the row,
 * never on its source.
 */
import {
  estimateMemory,
  findAccelerator,
  fitVerdict,
  mixedPrecision,
  nonBlockingFabric,
  ordinaryPlan,
  otherModelReason,
  planChoices,
  type PlanChoiceName,
  type Accelerator,
  type Attention,
  type MemoryEstimate,
  type ModelArchitecture,
  type NumberFormat,
  type ParallelPlan,
  type SoftwareStack,
  type StageMemory,
  type StatedPlan,
  type TrainingJob,
  type TrainingSoftware,
  type TrainingSystem,
} from "@headroom/perf";

import { impossibleNumber, type NumberColumns } from "./stated-numbers.ts";
import { readRecomputation, unknownWord } from "./stated-words.ts";

export type Fields = Readonly<Record<string, string>>;

export interface TrainingRow {
  readonly id: string;
  readonly group: string;
  readonly label: string;
  readonly isScored: boolean;
  readonly isTpu: boolean;
  readonly status: string;
  readonly memoryJudgement: MemoryJudgement;
  readonly job: TrainingJob;
  readonly plan: ParallelPlan;
  /** Settings that the row does not state. The search chose them, as it does for a user who omits them. */
  readonly chosen: readonly PlanChoiceName[];
  /** The reason why the plan differs from the row. Empty if it does not. */
  readonly note: string;
  readonly system: TrainingSystem;
  readonly stepSeconds: number | undefined;
  readonly memoryGib: number | undefined;
}

/**
 * How the memory of a row is judged. `as stated`: the row states a recomputation policy that the model contains. `at
 * least`: the policy is missing or ambiguous, so the row is judged with full recomputation, which needs the least
 * memory (the selective policy of PyTorch's FSDP recomputes whole blocks, Megatron's only attention). `unknown policy`:
 * the memory is not judged, because other policies can keep activations on the host.
 */
export type MemoryJudgement = "as stated" | "at least" | "unknown policy";

export type Reading = { readonly kind: "row"; readonly row: TrainingRow } | Unreadable;

const numberColumns: NumberColumns = {
  counts: (
    "layers hidden heads kv_heads head_dim ffn_hidden vocab seq_len global_batch gpus gpus_per_node scaleup_domain " +
    "tp pp vpp dp cp ep micro_batch grad_accum"
  ).split(" "),
  amounts: ["experts", "topk", "expert_ffn", "shared_ffn", "dense_layers", "zero_stage"],
  measures: ["step_time_s", "mem_gib_measured"],
};

export interface Unreadable {
  readonly kind: "unreadable";
  readonly id: string;
  readonly group: string;
  readonly isScored: boolean;
  readonly reason: string;
  /** Position of the row as FILE:LINE. */
  readonly place: string;
}

/** Columns that a file of training measurements must have. */
export const trainingColumns = {
  all: ["gpu", "gpus", "seq_len", "global_batch", "layers", "hidden", "heads", "vocab"],
  any: ["step_time_s", "mem_gib_measured", "status"],
};

/**
 * The stage with whose predicted memory a measured peak is compared: the stage with the highest peak. nanotron logs the
 * memory of rank 0, which is on the first stage (`log_memory`).
 */
export function reportedStage({ software }: TrainingJob, { first, fullest }: MemoryEstimate): StageMemory {
  return software.library === "nanotron" ? first : fullest;
}

function numberIn(fields: Fields, name: string): number | undefined {
  const text = fields[name]?.trim() ?? "";
  if (text === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

const numberOr = (fields: Fields, name: string, fallback: number): number => numberIn(fields, name) ?? fallback;

/**
 * Converts a row to a run to predict, or to the reason why there is no prediction. `place`: position of the row as
 * FILE:LINE.
 */
export function readTrainingRow(fields: Fields, place = ""): Reading {
  const id = fields["id"] ?? "";
  const group = fields["source_group"] ?? fields["source"] ?? "no source";
  const isScored = fields["score"] === undefined || fields["score"] === "1";
  const refuse = (reason: string): Unreadable => ({ kind: "unreadable", id, group, isScored, reason, place });
  const wrong = impossibleNumber(fields, numberColumns) ?? unknownWord(fields);
  if (wrong !== undefined) return refuse(wrong);
  const accelerator = findAccelerator(fields["gpu"] ?? "");
  if (accelerator === undefined) return refuse(`accelerator ${fields["gpu"] ?? ""} is not in the catalogue`);
  const model = readModel(fields);
  if (typeof model === "string") return refuse(model);
  const sequenceLength = numberIn(fields, "seq_len");
  const globalBatch = numberIn(fields, "global_batch");
  const count = numberIn(fields, "gpus");
  if (sequenceLength === undefined || globalBatch === undefined || count === undefined) {
    return refuse("sequence length, global batch or number of accelerators is missing");
  }
  const precision = readPrecision(fields["precision"] ?? "");
  if (precision === undefined) return refuse(`precision ${fields["precision"] ?? ""} is unknown`);
  const widths = numberOr(fields, "tp", 1) * numberOr(fields, "pp", 1) * numberOr(fields, "cp", 1);
  if (count % widths !== 0) return refuse(`tp × pp × cp of ${widths} does not divide ${count} accelerators`);
  const written = readPlan(fields, count, globalBatch);
  const stack = readStack(fields, accelerator, written, precision);
  const job: TrainingJob = {
    model,
    sequenceLength,
    globalBatch,
    method: fields["kind"] === "lora" ? { kind: "lora", rank: 16 } : { kind: "full" },
    precision: { ...mixedPrecision(precision), ...(isNarrowReduction(fields) ? { gradientBytes: 2 } : {}) },
    software: {
      stack,
      attention: fields["flash_attn"] === "0" ? "unfused" : "flash",
      ...readLibrary(fields),
    },
  };
  const system: TrainingSystem = { cluster: readCluster(fields, withMemory(accelerator, fields), count) };
  const contradiction = contradictionIn(fields, job, written);
  if (contradiction !== undefined) return refuse(contradiction);
  const completion = completed({ job, system, written }, fields, count);
  const row: TrainingRow = {
    id,
    group,
    label: `${model.name} ${accelerator.name}×${count}`,
    isScored,
    isTpu: accelerator.vendor === "Google",
    status: (fields["status"] ?? "").trim().toLowerCase(),
    memoryJudgement: memoryJudgement(fields["recompute"] ?? "", stack),
    ...completion,
    note: [completion.note, frameworkNote(fields, accelerator, stack)].filter((text) => text !== "").join("; "),
    system,
    stepSeconds: numberIn(fields, "step_time_s"),
    memoryGib: numberIn(fields, "mem_gib_measured"),
  };
  return { kind: "row", row };
}

/**
 * The first contradiction between fields of a row, which no run can have, or `undefined`. Deviations that published
 * runs have are none: a batch that the micro-batch does not divide, or layers that the chunks do not divide.
 */
function contradictionIn(
  fields: Fields,
  job: TrainingJob,
  { pipeline, expert, microBatch }: ParallelPlan,
): string | undefined {
  const { model, globalBatch } = job;
  const { layerCount, attention, experts } = model;
  if (experts !== undefined && experts.denseLayerCount > layerCount) {
    return `dense_layers of ${experts.denseLayerCount} is more than the ${layerCount} layers`;
  }
  const expertCount = experts?.count ?? 1;
  if (experts !== undefined && experts.perToken > expertCount) {
    return `topk of ${experts.perToken} is more than the ${expertCount} experts`;
  }
  if (experts === undefined && expert > 1) return `ep of ${expert} needs a model with experts`;
  if (expertCount % expert !== 0) return `ep of ${expert} does not divide the ${expertCount} experts`;
  if (pipeline > layerCount) return `pp of ${pipeline} is more than the ${layerCount} layers`;
  const tensor = numberOr(fields, "tp", 1);
  if (attention.headCount % tensor !== 0) return `tp of ${tensor} does not divide the ${attention.headCount} heads`;
  const isLaidOut = ["tp", "pp"].every((name) => numberIn(fields, name) !== undefined);
  if (isLaidOut && microBatch < 1) return `the layout has more data-parallel ranks than the ${globalBatch} sequences`;
  const stated = numberOr(fields, "micro_batch", 1);
  return stated > globalBatch ? `micro_batch of ${stated} is more than the global batch of ${globalBatch}` : undefined;
}

/**
 * The performance recipes of NeMo and Megatron-Bridge accumulate and reduce gradients in 16 bits
 * (grad_reduce_in_fp32=False). DeepSpeed does so by default.
 */
const isNarrowReduction = (fields: Fields): boolean => /nemo|bridge|nvidia|deepspeed/i.test(fields["framework"] ?? "");

const isDeepSpeed = (fields: Fields): boolean => /deepspeed/i.test(fields["framework"] ?? "");

function readLibrary(fields: Fields): Pick<TrainingSoftware, "library"> {
  if (isDeepSpeed(fields)) return { library: "deepspeed" };
  return /nanotron/i.test(fields["framework"] ?? "") ? { library: "nanotron" } : {};
}

function memoryJudgement(recompute: string, stack: SoftwareStack): MemoryJudgement {
  const isUnsure = recompute === "" || recompute.endsWith("?");
  if (isUnsure || (stack === "eager" && recompute === "selective")) return "at least";
  return /^(?:none|full|selective|core_attn)\b/.test(recompute) ? "as stated" : "unknown policy";
}

/** The accelerator's variant with the memory that a note of the row names, such as "V100-16GB". */
function withMemory(accelerator: Accelerator, fields: Fields): Accelerator {
  const size = new RegExp(`${fields["gpu"] ?? ""}-(\\d+)\\s?GB`).exec(fields["note"] ?? "");
  return size === null ? accelerator : { ...accelerator, memoryGib: Number(size[1]) };
}

function readModel(fields: Fields): ModelArchitecture | string {
  const layerCount = numberIn(fields, "layers");
  const hidden = numberIn(fields, "hidden");
  const headCount = numberIn(fields, "heads");
  const vocabulary = numberIn(fields, "vocab");
  if (layerCount === undefined || hidden === undefined || headCount === undefined || vocabulary === undefined) {
    return (
      otherModelReason(fields["model"], fields["kind"]) ??
      "layers, hidden size, heads or vocabulary of the model are missing"
    );
  }
  const experts = numberOr(fields, "experts", 0);
  const ffnHidden = numberOr(fields, "ffn_hidden", 4 * hidden);
  return {
    name: fields["model"] ?? "",
    layerCount,
    hidden,
    attention: readAttention(fields, headCount, hidden),
    ffnHidden,
    isFfnGated: fields["gated_ffn"] === "1",
    vocabulary,
    hasTiedEmbeddings: fields["tied_emb"] === "1",
    learnedPositions: 0,
    ...(experts > 1
      ? {
          experts: {
            count: experts,
            perToken: numberOr(fields, "topk", 1),
            ffnHidden: numberOr(fields, "expert_ffn", ffnHidden),
            sharedFfnHidden: numberOr(fields, "shared_ffn", 0),
            denseLayerCount: numberOr(fields, "dense_layers", 0),
          },
        }
      : {}),
    source: fields["provenance"] ?? "",
  };
}

/**
 * The files state only the number and the width of the heads of latent attention. The ranks are taken from the
 * config.json of DeepSeek-V3.
 */
function readAttention(fields: Fields, headCount: number, hidden: number): Attention {
  if (fields["attn"] === "mla") {
    const [nopeHeadDim, ropeHeadDim, valueHeadDim] = [128, 64, 128];
    return { kind: "latent", headCount, queryRank: 1536, kvRank: 512, nopeHeadDim, ropeHeadDim, valueHeadDim };
  }
  return {
    kind: "grouped",
    headCount,
    kvHeadCount: numberOr(fields, "kv_heads", headCount),
    headDim: numberOr(fields, "head_dim", hidden / headCount),
  };
}

/**
 * The precision that the text names first. In "fp8/mxfp4?" and "fp8 or nvfp4 (ambiguous)", the second precision is a
 * guess.
 */
function readPrecision(text: string): NumberFormat | undefined {
  const name = text.toLowerCase();
  if (name === "") return "bf16";
  const [found] = /mxfp8|fp8-mx|nvfp4|mxfp4|bf16|fp16|half|fp4|int8|fp8/.exec(name) ?? [];
  if (found === undefined) return undefined;
  if (found === "half") return "fp16";
  if (found === "fp8-mx") return "mxfp8";
  return found === "fp4" ? "nvfp4" : (found as NumberFormat);
}

interface Written {
  readonly job: TrainingJob;
  readonly system: TrainingSystem;
  /** The plan of the row, with default values for empty cells. */
  readonly written: ParallelPlan;
}

/**
 * The choices that the cells of a row state. A layout is published as a whole: if tensor and pipeline ranks are given,
 * an empty cell for context or expert ranks means 1.
 */
function statedChoices(fields: Fields, row: Written): StatedPlan {
  const { job, written } = row;
  const has = (name: string): boolean => (fields[name]?.trim() ?? "") !== "";
  const isLaidOut = has("tp") && has("pp");
  const isDense = job.model.experts === undefined;
  const isMicroBatchStated = has("micro_batch") || (has("grad_accum") && isLaidOut);
  const isShardingStated = has("zero_stage") && (isLaidOut || written.zeroStage === 3);
  const { tensor, pipeline, context, data, expert, virtualStages, schedule, microBatch } = written;
  // If the micro-batches on all accelerators together are the whole batch, every accelerator is a data rank, and no
  // accelerators are left for other kinds of ranks.
  const isWhole = has("micro_batch") && !has("tp") && microBatch * data === job.globalBatch && tensor === 1;
  const { zeroStage, shardCount, recomputation, sequenceParallel } = written;
  return {
    ...(has("tp") || isWhole ? { tensor } : {}),
    ...(has("pp") ? { pipeline } : {}),
    ...(has("cp") || isLaidOut || isWhole ? { context } : {}),
    ...(isLaidOut ? { data } : {}),
    ...(has("ep") || isLaidOut || isDense ? { expert } : {}),
    ...(has("vpp") || pipeline === 1 ? { virtualStages, schedule } : {}),
    ...(isMicroBatchStated ? { microBatch } : {}),
    ...(isShardingStated ? { zeroStage } : {}),
    ...(isLaidOut && isShardingStated ? { shardCount } : {}),
    ...(has("recompute") && !isRefutedGuess(fields, row) ? { recomputation } : {}),
    ...(has("sequence_parallel") ? { sequenceParallel } : {}),
  };
}

/**
 * Whether a recomputation policy that is marked as a guess (with a question mark) is impossible, because the run would
 * not fit in memory.
 */
function isRefutedGuess(fields: Fields, { job, system, written }: Written): boolean {
  if (!(fields["recompute"] ?? "").endsWith("?")) return false;
  return fitVerdict(estimateMemory(job, written), system.cluster.node.accelerator) === "does not fit";
}

/** The plan that a row states. The search of `headroom size` chooses the settings that the row leaves open. */
function completed(row: Written, fields: Fields, count: number): Pick<TrainingRow, "job" | "plan" | "chosen" | "note"> {
  const { job, system, written } = row;
  const given = statedChoices(fields, row);
  const open = planChoices.filter((name) => name !== "precision" && given[name] === undefined);
  if (open.length === 0) return { job, plan: written, chosen: [], note: "" };
  const result = ordinaryPlan(job, system, count, given);
  if (result.kind === "found") return { job: result.job, plan: result.plan, chosen: open, note: "" };
  const least = result.kind === "nothingFits" ? result.least : undefined;
  if (least !== undefined) {
    return { job, plan: least.plan, chosen: open, note: "no plan is known to fit: the most frugal one" };
  }
  return { job, plan: written, chosen: open, note: "no plan of the search divides the batch: defaults" };
}

function readPlan(fields: Fields, count: number, globalBatch: number): ParallelPlan {
  const tensor = numberOr(fields, "tp", 1);
  const pipeline = numberOr(fields, "pp", 1);
  const context = numberOr(fields, "cp", 1);
  const free = count / (tensor * pipeline * context);
  const stage = numberOr(fields, "zero_stage", 0);
  // A data-parallel rank cannot process less than one sequence. If there are more ranks than sequences, several
  // accelerators together become the tensor ranks of one data rank.
  const spread = stage === 3 && free > globalBatch && (fields["tp"] ?? "") === "" ? free / globalBatch : 1;
  const data = free / spread;
  const asked = numberIn(fields, "micro_batch") ?? accumulated(fields, globalBatch / data);
  const steps = Math.max(1, Math.round(globalBatch / (data * asked)));
  const virtualStages = pipeline > 1 ? numberOr(fields, "vpp", 1) : 1;
  return {
    tensor: tensor * spread,
    pipeline,
    context,
    data,
    expert: numberOr(fields, "ep", 1),
    virtualStages,
    schedule: virtualStages > 1 ? "interleaved" : "1f1b",
    // Some published global batches are not multiples of the micro-batch. In this case the number of micro-batches is
    // kept, and the micro-batch is changed.
    microBatch: globalBatch / (data * steps),
    sequenceParallel: (fields["sequence_parallel"] ?? "") === "" ? tensor > 1 : fields["sequence_parallel"] === "1",
    // DeepSpeed's examples shard the optimizer. A row of DeepSpeed without a ZeRO stage is therefore assumed to do so
    // too.
    zeroStage: stage === 1 || stage === 2 || stage === 3 ? stage : isDeepSpeed(fields) ? 1 : 0,
    shardCount: readShards(fields, data),
    recomputation: readRecomputation(fields["recompute"] ?? ""),
  };
}

/**
 * Number of sequences in a micro-batch of a row that does not state it. It follows from the number of accumulation
 * steps. Without that number it is a single sequence, which long pipelines need.
 */
function accumulated(fields: Fields, perReplica: number): number {
  const steps = numberIn(fields, "grad_accum");
  return steps === undefined ? Math.min(1, perReplica) : Math.max(1, perReplica / steps);
}

/**
 * Number of ranks among which the state is sharded. "HSDP" means sharding within a node, and a number is the size of
 * the sharding group. All other values mean sharding over all replicas.
 */
function readShards(fields: Fields, data: number): number {
  if (fields["fsdp"] === "HSDP") return Math.min(data, numberOr(fields, "gpus_per_node", 8));
  const count = numberOr(fields, "fsdp", data);
  return count > 1 && data % count === 0 ? count : data;
}

/** The software stack of a known framework. */
function namedStack(framework: string): SoftwareStack | undefined {
  if (/maxtext|pax|jax/i.test(framework)) return "compiled";
  if (/megatron-deepspeed|nanotron|torchtitan|fsdp|foundry/i.test(framework)) return "eager";
  return /nemo|megatron|bridge|transformer.?engine/i.test(framework) ? "fused" : undefined;
}

/** States the stack that was assumed, if the row names no framework or an unknown one. */
function frameworkNote(fields: Fields, accelerator: Accelerator, stack: SoftwareStack): string {
  const framework = fields["framework"]?.trim() ?? "";
  if (accelerator.vendor === "Google" || namedStack(framework) !== undefined || isDeepSpeed(fields)) return "";
  return `${framework === "" ? "no framework is stated" : `framework ${framework} is not known`}: counted as ${stack}`;
}

function readStack(
  fields: Fields,
  accelerator: Accelerator,
  plan: ParallelPlan,
  precision: NumberFormat,
): SoftwareStack {
  const known = accelerator.vendor === "Google" ? "compiled" : namedStack(fields["framework"] ?? "");
  if (known !== undefined) return known;
  // On GPUs, formats of 8 and 4 bits always run in fused kernels (Transformer Engine), whatever the framework.
  const isNarrow = precision !== "bf16" && precision !== "fp16";
  return isNarrow || plan.tensor * plan.pipeline * plan.context > 1 ? "fused" : "eager";
}

function readCluster(fields: Fields, accelerator: Accelerator, count: number): TrainingSystem["cluster"] {
  const perNode = numberOr(fields, "gpus_per_node", Math.min(8, accelerator.scaleUp.domainCount));
  const domainCount = numberOr(fields, "scaleup_domain", accelerator.scaleUp.domainCount);
  const perAccelerator = readNetwork(fields["inter_link"] ?? "", perNode) ?? accelerator.scaleOutGbPerS;
  return {
    node: {
      name: accelerator.name,
      accelerator: { ...accelerator, scaleUp: { ...accelerator.scaleUp, domainCount } },
      acceleratorCount: perNode,
      scaleOutGbPerS: perAccelerator * perNode,
      hostLinkGbPerS: 32,
      source: fields["provenance"] ?? "",
    },
    nodeCount: Math.ceil(count / perNode),
    fabric: nonBlockingFabric,
  };
}

/**
 * Bandwidth of the compute network in GB/s per accelerator, read from texts such as "8x400Gb NDR", "1600Gbps RoCE per
 * node" or "400Gbps/node". Storage and management networks are not counted.
 */
function readNetwork(text: string, perNode: number): number | undefined {
  const compute = text.split(/,(?=\s*Compute)/).at(-1) ?? text;
  const total = /(\d+)\s*Gb(?:ps|\/s)?[^,]*?(?:per node|\/node)|EFA (\d+)Gbps/i.exec(compute);
  if (total !== null) return Number(total[1] ?? total[2]) / 8 / perNode;
  const cards = [...compute.matchAll(/(\d+)x[^,]*?(\d+)\s?Gb/gi)].map(
    ([, cards = "0", rate = "0"]) => Number(cards) * Number(rate),
  );
  const most = Math.max(0, ...cards);
  return most >= 400 ? most / 8 / perNode : undefined;
}
