/**
 * The command that starts a run with a plan. It is torchrun with the arguments of Megatron-LM
 * (megatron/training/arguments.py), or of torchtitan (torchtitan/config) if PyTorch modules run under FSDP. The command
 * uses the environment variables that every worker gets.
 */
import type { Experts, ModelArchitecture } from "../catalogue/model.ts";
import type { ParallelPlan, TrainingJob } from "../training/job.ts";

type Argument = readonly [flag: string, value?: number | string];

const torchrun =
  "torchrun --nnodes $NNODES --nproc-per-node $NPROC_PER_NODE --node-rank $NODE_RANK --master-addr $MASTER_ADDR --master-port $MASTER_PORT";

/** The 16-bit format of weights and activations. */
type HalfFormat = "bf16" | "fp16";

/**
 * The launch command, or `null` if no command line can state the plan. JAX programs set their mesh in code, and
 * adapters need a program of their own. torchtitan trains in bf16 or fp32 only (`mixed_precision_param` in
 * torchtitan/config). `usualHalf`: the accelerator's 16-bit format. It is the 16-bit format of runs whose linear layers
 * use 8 bits or fewer.
 */
export function launchCommand(job: TrainingJob, plan: ParallelPlan, usualHalf: HalfFormat = "bf16"): string | null {
  if (job.software.stack === "compiled" || job.method.kind === "lora") return null;
  const { linear } = job.precision;
  const half = linear === "bf16" || linear === "fp16" ? linear : usualHalf;
  if (job.software.stack === "eager" && half === "fp16") return null;
  if (job.software.stack === "eager") return written("-m torchtitan.train", titanArguments(job, plan));
  return written("pretrain_gpt.py", [...megatronPlan(job, plan, half), ...megatronModel(job.model, job)]);
}

function written(program: string, all: readonly Argument[]): string {
  const text = all.map(([flag, value]) => (value === undefined ? flag : `${flag} ${value}`));
  return `${torchrun} ${program} ${text.join(" ")}`;
}

function megatronPlan(job: TrainingJob, plan: ParallelPlan, half: HalfFormat): readonly Argument[] {
  const when = (isSaid: boolean, ...argument: Argument): readonly Argument[] => (isSaid ? [argument] : []);
  const chunkLayers = Math.floor(job.model.layerCount / (plan.pipeline * plan.virtualStages));
  return [
    ["--tensor-model-parallel-size", plan.tensor],
    ["--pipeline-model-parallel-size", plan.pipeline],
    ...chunkArguments(job.model.layerCount, plan),
    ...when(plan.context > 1, "--context-parallel-size", plan.context),
    ...when(plan.expert > 1, "--expert-model-parallel-size", plan.expert),
    ...when(plan.sequenceParallel, "--sequence-parallel"),
    ["--micro-batch-size", plan.microBatch],
    ["--global-batch-size", job.globalBatch],
    ["--seq-length", job.sequenceLength],
    ...when(plan.zeroStage >= 1, "--use-distributed-optimizer"),
    ...when(job.precision.optimizerBytes < 12, "--use-precision-aware-optimizer"),
    [`--${half}`],
    ...when(job.precision.linear.includes("fp8"), "--fp8-format", "hybrid"),
    ...recomputation(plan, chunkLayers),
  ];
}

/**
 * Arguments that divide the layers over stages and chunks. Without them, Megatron needs chunks of equal size. A layout
 * lists the chunks: E is the embedding, t a layer, L the output layer (megatron/core/transformer,
 * pipeline_parallel_layer_layout.py).
 */
function chunkArguments(layerCount: number, { pipeline, virtualStages }: ParallelPlan): readonly Argument[] {
  const chunks = pipeline * virtualStages;
  const isEven = layerCount % chunks === 0;
  if (isEven) return virtualStages > 1 ? [["--num-layers-per-virtual-pipeline-stage", layerCount / chunks]] : [];
  const last = virtualStages === 1 ? lastStageLayers(layerCount, pipeline) : null;
  if (last !== null) return [["--decoder-last-pipeline-num-layers", last]];
  return [["--pipeline-model-parallel-layout", `'${unevenLayout(layerCount, chunks)}'`]];
}

/** A layout in which the first chunks have one layer more than the others. */
function unevenLayout(layerCount: number, chunks: number): string {
  const least = Math.floor(layerCount / chunks);
  const larger = layerCount % chunks;
  const layers = (count: number): string => (count === 1 ? "t" : `t*${count}`);
  const repeated = (count: number, times: number): string => (times > 0 ? `(${layers(count)}|)*${times}` : "");
  const middle = repeated(least + 1, larger - 1) + repeated(least, chunks - larger - 1);
  return `E${layers(least + 1)}|${middle}${layers(least)}L`;
}

/**
 * Number of layers of the last stage if it is smaller than that of the other stages. `null` if all stages have the same
 * number of layers, or if no layers would remain for the last stage.
 */
function lastStageLayers(layerCount: number, stages: number): number | null {
  const last = layerCount - (stages - 1) * Math.ceil(layerCount / stages);
  return layerCount % stages === 0 || last < 1 ? null : last;
}

function recomputation({ recomputation: kind }: ParallelPlan, chunkLayers: number): readonly Argument[] {
  if (kind === "none") return [];
  if (kind === "selective") return [["--recompute-granularity", "selective"]];
  return [
    ["--recompute-granularity", "full"],
    ["--recompute-method", kind === "full" ? "uniform" : "block"],
    ["--recompute-num-layers", kind === "full" ? 1 : Math.max(1, Math.round(chunkLayers / 2))],
  ];
}

function megatronModel(model: ModelArchitecture, { sequenceLength }: TrainingJob): readonly Argument[] {
  const { attention, experts } = model;
  const kvHeads = "kvHeadCount" in attention ? attention.kvHeadCount : attention.headCount;
  return [
    ["--num-layers", model.layerCount],
    ["--hidden-size", model.hidden],
    ...(model.ffnHidden > 0 ? [["--ffn-hidden-size", model.ffnHidden] as const] : []),
    ["--num-attention-heads", attention.headCount],
    ...(kvHeads < attention.headCount ? ([["--group-query-attention"], ["--num-query-groups", kvHeads]] as const) : []),
    ["--max-position-embeddings", Math.max(sequenceLength, model.learnedPositions)],
    ...(model.isFfnGated ? [["--swiglu"] as const] : []),
    ...(model.learnedPositions === 0 ? ([["--position-embedding-type", "rope"]] as const) : []),
    ...(model.hasTiedEmbeddings ? [] : ([["--untie-embeddings-and-output-weights"]] as const)),
    ...megatronAttention(attention),
    ...(experts === undefined ? [] : megatronExperts(experts, model.layerCount)),
  ];
}

function megatronAttention(attention: ModelArchitecture["attention"]): readonly Argument[] {
  if (attention.kind !== "latent") return [["--kv-channels", attention.headDim]];
  return [
    ["--multi-latent-attention"],
    ...(attention.queryRank > 0 ? ([["--q-lora-rank", attention.queryRank]] as const) : []),
    ["--kv-lora-rank", attention.kvRank],
    ["--qk-head-dim", attention.nopeHeadDim],
    ["--qk-pos-emb-head-dim", attention.ropeHeadDim],
    ["--v-head-dim", attention.valueHeadDim],
  ];
}

function megatronExperts(experts: Experts, layerCount: number): readonly Argument[] {
  const { count, perToken, ffnHidden, sharedFfnHidden, denseLayerCount } = experts;
  return [
    ["--num-experts", count],
    ["--moe-router-topk", perToken],
    ["--moe-ffn-hidden-size", ffnHidden],
    ...(sharedFfnHidden > 0 ? ([["--moe-shared-expert-intermediate-size", sharedFfnHidden]] as const) : []),
    // The list is quoted, because a shell would read its brackets as a pattern.
    ...(denseLayerCount > 0
      ? ([["--moe-layer-freq", `'([0]*${denseLayerCount}+[1]*${layerCount - denseLayerCount})'`]] as const)
      : []),
  ];
}

function titanArguments(job: TrainingJob, plan: ParallelPlan): readonly Argument[] {
  const shards = plan.zeroStage === 3 ? plan.shardCount : plan.data;
  const checkpointing = { none: "none", selective: "selective", partial: "selective", full: "full" } as const;
  return [
    ["--training.seq_len", job.sequenceLength],
    ["--training.local_batch_size", plan.microBatch],
    ["--training.global_batch_size", job.globalBatch],
    ["--parallelism.data_parallel_shard_degree", shards],
    ["--parallelism.data_parallel_replicate_degree", Math.max(1, plan.data / shards)],
    ["--parallelism.tensor_parallel_degree", plan.tensor],
    ["--parallelism.pipeline_parallel_degree", plan.pipeline],
    ["--parallelism.context_parallel_degree", plan.context],
    ["--activation_checkpoint.mode", checkpointing[plan.recomputation]],
  ];
}
