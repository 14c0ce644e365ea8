/** `model`: what a workload trains, so that its memory, plan and speed can be told before it is submitted. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { fields, leaf, optionalLeaf, readChoice, readInteger, readText } from "./field.ts";
import type { FieldProblem } from "./placement-fields.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

/** As `POST /v1/sizing` takes them. */
const formats = ["bf16", "fp16", "fp8", "mxfp8", "int8", "fp4", "mxfp4", "nvfp4", "int4"] as const;
const stacks = ["fused", "eager", "compiled"] as const;
const recomputations = ["none", "selective", "partial", "full"] as const;

const SEQUENCE_MAX = 100_000_000;
const BATCH_MAX = 10_000_000;
const WIDTH_MAX = 1_000_000;
const RANK_MAX = 65_536;
const TIERS_MAX = 20;
const AMOUNT_MAX = 1e24;
const OVERSUBSCRIPTION_MAX = 1000;

const nothing = <Value>(readValue: (value: unknown) => Reading<Value>) =>
  readValue as (value: unknown) => Reading<Value | null>;

const wholeNumber = (max: number) => nothing((value) => readInteger(value, { min: 1, max }));

function readAmount(value: unknown, range: { readonly min: number; readonly max: number }): Reading<number> {
  if (typeof value !== "number" || !Number.isFinite(value)) return refuse(`must be a number, got ${shown(value)}`);
  if (value >= range.min && value <= range.max && value > 0) return read(value);
  return refuse(`must be ${range.min > 0 ? `at least ${range.min}` : "above 0"}, got ${value}`);
}

const amount = nothing((value) => readAmount(value, { min: 0, max: AMOUNT_MAX }));

const readShortText = nothing((value) => readText(value, { lengthMax: limits.PATH_CHARS_MAX, form: "a text" }));

const width = (description: string) =>
  optionalLeaf({ description, type: "integer", minimum: 1, maximum: WIDTH_MAX }, null, wholeNumber(WIDTH_MAX));

const planFields = fields(
  {
    tensor: width("Accelerators that share every layer."),
    pipeline: width("Stages, one after the other."),
    context: width("Accelerators that share every sequence."),
    data: width("Replicas; left out, what the other widths leave."),
    expert: width("Accelerators that share the experts of a layer."),
    virtualStages: width("Chunks that each stage has of the layers."),
    microBatch: width("Sequences at a time in each replica."),
    zeroStage: optionalLeaf(
      {
        description: "What replicas share of the state: 0 nothing to 3 everything.",
        type: "integer",
        minimum: 0,
        maximum: 3,
      },
      null,
      nothing((value) => {
        const stage = ([0, 1, 2, 3] as const).find((known) => known === value);
        return stage === undefined ? refuse(`must be 0, 1, 2 or 3, got ${shown(value)}`) : read(stage);
      }),
    ),
    recomputation: optionalLeaf(
      { description: "Which activations are computed again.", enum: [...recomputations] },
      null,
      nothing((value) => readChoice(value, recomputations)),
    ),
  },
  {
    meant: {
      tp: "tensor",
      pp: "pipeline",
      cp: "context",
      dp: "data",
      ep: "expert",
      vpp: "virtualStages",
      zero: "zeroStage",
    },
  },
);

const tierFields = fields(
  {
    name: optionalLeaf({ description: "How messages call it.", type: "string" }, null, readShortText),
    capacityBytes: optionalLeaf({ description: "Bytes.", type: "number", exclusiveMinimum: 0 }, null, amount),
    readGbPerS: optionalLeaf(
      { description: "GB/s, all readers together.", type: "number", exclusiveMinimum: 0 },
      null,
      amount,
    ),
    writeGbPerS: optionalLeaf(
      { description: "GB/s, all writers together.", type: "number", exclusiveMinimum: 0 },
      null,
      amount,
    ),
    operationsPerS: optionalLeaf(
      { description: "Files opened in a second.", type: "number", exclusiveMinimum: 0 },
      null,
      amount,
    ),
    clientCount: optionalLeaf(
      { description: "Processes that may be connected.", type: "number", exclusiveMinimum: 0 },
      null,
      amount,
    ),
  },
  {
    meant: {
      capacity: "capacityBytes",
      read: "readGbPerS",
      write: "writeGbPerS",
      operations: "operationsPerS",
      clients: "clientCount",
    },
  },
);

const modelFields = {
  preset: optionalLeaf(
    { description: "A model that `headroom size` knows by name.", type: "string", examples: ["llama-3-8b"] },
    null,
    readShortText,
  ),
  config: optionalLeaf(
    { description: "The path of a config.json of Hugging Face, instead of a preset.", type: "string" },
    null,
    readShortText,
  ),
  sequence: optionalLeaf(
    { description: "Tokens per sequence.", type: "integer", minimum: 1, maximum: SEQUENCE_MAX, default: 4096 },
    4096,
    (value) => readInteger(value, { min: 1, max: SEQUENCE_MAX }),
  ),
  globalBatch: leaf(
    { description: "Sequences per optimizer step, over all workers.", type: "integer", minimum: 1, maximum: BATCH_MAX },
    (value) => readInteger(value, { min: 1, max: BATCH_MAX }),
  ),
  tokens: optionalLeaf(
    { description: "Tokens of the whole run.", type: "number", exclusiveMinimum: 0, examples: [15e12] },
    null,
    amount,
  ),
  precision: optionalLeaf(
    { description: "Operands of the linear layers.", enum: [...formats], default: "bf16" },
    "bf16",
    (value) => readChoice(value, formats),
  ),
  stack: optionalLeaf(
    {
      description:
        "fused (Megatron and its like), eager (PyTorch FSDP) or compiled (JAX); left out, compiled on TPUs, fused elsewhere.",
      enum: [...stacks],
    },
    null,
    (value) => readChoice(value, stacks),
  ),
  loraRank: optionalLeaf(
    {
      description: "Adapters of this rank are trained; left out, every parameter.",
      type: "integer",
      minimum: 1,
      maximum: RANK_MAX,
    },
    null,
    wholeNumber(RANK_MAX),
  ),
  plan: planFields.optional().meta({ description: "How it is laid out; left out, the fastest plan is proposed." }),
  catalogue: optionalLeaf(
    { description: "The path of a file with accelerators that the catalogue lacks.", type: "string" },
    null,
    readShortText,
  ),
  profile: optionalLeaf(
    { description: "The path of what `headroom calibrate` wrote for the accelerator.", type: "string" },
    null,
    readShortText,
  ),
  oversubscription: optionalLeaf(
    {
      description: "Of the network between nodes, down to up at the leaves; left out, it is non-blocking.",
      type: "number",
      minimum: 1,
    },
    null,
    nothing((value) => readAmount(value, { min: 1, max: OVERSUBSCRIPTION_MAX })),
  ),
  nodeNetworkGbPerS: optionalLeaf(
    {
      description: "All network ports of a node together, GB/s; left out, those of the usual server.",
      type: "number",
      exclusiveMinimum: 0,
    },
    null,
    amount,
  ),
  storage: z
    .array(tierFields, { error: "must be a list like [{ name: scratch, readGbPerS: 100, writeGbPerS: 50 }]" })
    .max(TIERS_MAX)
    .optional()
    .meta({ description: "Storage that must carry its reads and checkpoints, as bought; left out, none is judged." }),
};

export const modelShape = fields(modelFields, {
  meant: {
    name: "preset",
    seqLen: "sequence",
    sequenceLength: "sequence",
    batch: "globalBatch",
    batchSize: "globalBatch",
    format: "precision",
    rank: "loraRank",
    lora: "loraRank",
  },
});

/** What a workload says of its model; `null`: not stated. Paths are as written, for whoever knows where the file lies. */
export type ModelRequest = z.output<typeof modelShape>;

interface WithModel {
  readonly gang: {
    readonly accelerators: number | null;
    readonly share: number | null;
    readonly profile: string | null;
  };
  readonly model?: ModelRequest | undefined;
}

/** What is wrong between fields that are each fine. */
export function modelProblems({ gang, model }: WithModel): FieldProblem[] {
  if (model === undefined) return [];
  const problems: FieldProblem[] = [];
  if (model.preset === null && model.config === null)
    problems.push({ path: ["model"], message: "needs preset or config" });
  if (model.preset !== null && model.config !== null) {
    problems.push({ path: ["model", "config"], message: "does not go with preset: give one of them" });
  }
  if (gang.share !== null) problems.push({ path: ["model"], message: "needs whole accelerators, not gang.share" });
  else if (gang.profile !== null)
    problems.push({ path: ["model"], message: "needs whole accelerators, not gang.profile" });
  else if ((gang.accelerators ?? 0) < 1) {
    problems.push({ path: ["model"], message: "needs gang.accelerators: how many each worker trains on" });
  }
  return problems;
}
