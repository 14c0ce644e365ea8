/**
 * `model`: the model that a workload trains, so that memory, parallel plan and speed are known before the submission.
 * The API has no such field.
 */
import { z } from "zod";
import { defaulted, listOf, nullable, record, required } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import type { FieldProblem } from "../document-problem.ts";
import * as limits from "../limits.ts";
import { read, refuse, shown } from "../notation/reading.ts";

const positive = notation.amount(1e24);
const width = notation.integer(1, 1_000_000);
const shortText = notation.text(z.string(), limits.PATH_CHARS_MAX, "a text");

const zeroStages = [0, 1, 2, 3] as const;
const zeroStage = notation.scalar({
  wire: z.literal(zeroStages),
  kind: "`0`, `1`, `2`, `3`",
  editor: { type: "integer", minimum: 0, maximum: 3 },
  read: (value) => {
    const stage = zeroStages.find((known) => known === value);
    return stage === undefined ? refuse(`must be 0, 1, 2 or 3, got ${shown(value)}`) : read(stage);
  },
});

const plan = record(
  {
    tensor: nullable(width, { description: "Tensor-parallel width: number of accelerators that share every layer." }),
    pipeline: nullable(width, { description: "Pipeline stages." }),
    context: nullable(width, {
      description: "Context-parallel width: number of accelerators that share every sequence.",
    }),
    data: nullable(width, {
      description: "Data-parallel replicas.",
      otherwise: "the accelerators divided by the other widths",
    }),
    expert: nullable(width, {
      description: "Expert-parallel width: number of accelerators that share the experts of a layer.",
    }),
    virtualStages: nullable(width, { description: "Number of chunks of layers in each pipeline stage." }),
    microBatch: nullable(width, { description: "Number of sequences that a replica processes at a time." }),
    zeroStage: nullable(zeroStage, {
      description: "ZeRO stage: which state the replicas share, from 0 (none) to 3 (all).",
    }),
    recomputation: nullable(notation.choice(["none", "selective", "partial", "full"]), {
      description: "Which activations the backward pass recomputes.",
    }),
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

const storageTier = record(
  {
    name: nullable(shortText, { description: "Name of the storage, for messages." }),
    capacityBytes: nullable(positive, { description: "Bytes." }),
    readGbPerS: nullable(positive, { description: "Read rate in GB/s of all readers together." }),
    writeGbPerS: nullable(positive, { description: "Write rate in GB/s of all writers together." }),
    operationsPerS: nullable(positive, { description: "Number of files that can be opened in a second." }),
    clientCount: nullable(positive, { description: "Maximum number of connected processes." }),
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

/** Number formats that `POST /v1/sizing` accepts. */
const formats = ["bf16", "fp16", "fp8", "mxfp8", "int8", "fp4", "mxfp4", "nvfp4", "int4"] as const;

export const model = record(
  {
    preset: nullable(shortText, {
      description: "A model that `headroom size` knows by name. State `preset` or `config`, not both.",
      examples: ["llama-3-8b"],
    }),
    config: nullable(shortText, { description: "The path of a Hugging Face config.json." }),
    sequence: defaulted(notation.integer(1, 100_000_000), 4096, { description: "Tokens per sequence." }),
    globalBatch: required(notation.integer(1, 10_000_000), {
      description: "Sequences per optimizer step, over all workers.",
    }),
    tokens: nullable(positive, {
      description: "Number of tokens of the whole run, which gives its predicted duration.",
      examples: [15e12],
    }),
    precision: nullable(notation.choice(formats), {
      description: "Number format in the linear layers.",
      otherwise:
        "the format in which the preset was trained (`fp8` for deepseek-v3) if the accelerator supports it, else `bf16`, or `fp16` on accelerators without bf16",
    }),
    stack: nullable(notation.choice(["fused", "eager", "compiled"]), {
      description: "Training software: `fused` (Megatron and similar), `eager` (PyTorch FSDP) or `compiled` (JAX).",
      otherwise: "`compiled` on TPUs, else `fused`",
    }),
    loraRank: nullable(notation.integer(1, 65_536), {
      description: "Rank of the adapters, if adapters are trained.",
      otherwise: "every parameter is trained",
    }),
    plan: nullable(plan, { description: "The parallelism plan to check.", otherwise: "the fastest plan is proposed" }),
    catalogue: nullable(shortText, {
      description: "The path of a file with accelerators that are missing in the catalogue.",
    }),
    profile: nullable(shortText, {
      description: "The path of a file that `headroom calibrate` wrote for the accelerator.",
    }),
    oversubscription: nullable(notation.amount(1000, 1), {
      description:
        "Oversubscription of the network between nodes: downlink divided by uplink bandwidth of the leaf switches.",
      otherwise: "non-blocking",
    }),
    nodeNetworkGbPerS: nullable(positive, {
      description: "Bandwidth of all network ports of a node together, in GB/s.",
      otherwise: "those of the usual server",
    }),
    storage: nullable(
      listOf(storageTier, {
        max: 20,
        error: () => "must be a list like [{ name: scratch, readGbPerS: 100, writeGbPerS: 50 }]",
      }),
      {
        description: "Storage that the workload reads from and writes checkpoints to.",
        otherwise: "storage is not checked",
      },
    ),
  },
  {
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
  },
);

/**
 * The statements of a workload about its model; `null`: not stated. Paths are not resolved here, because only the reader of
 * the file knows its directory.
 */
export type ModelRequest = z.output<typeof model.wire>;

interface WithModel {
  readonly gang: {
    readonly accelerators: number | null;
    readonly share: number | null;
    readonly profile: string | null;
  };
  readonly model: { readonly preset: string | null; readonly config: string | null } | null;
}

/** Problems between fields that are valid each by itself. */
export function modelProblems({ gang, model: named }: WithModel): FieldProblem[] {
  if (named === null) return [];
  const problems: FieldProblem[] = [];
  const say = (path: readonly string[], message: string): void => void problems.push({ path, message });
  if (named.preset === null && named.config === null) say(["model"], "needs preset or config");
  if (named.preset !== null && named.config !== null)
    say(["model", "config"], "cannot be combined with preset: give only one of them");
  if (gang.share !== null) say(["model"], "needs whole accelerators, not gang.share");
  else if (gang.profile !== null) say(["model"], "needs whole accelerators, not gang.profile");
  else if ((gang.accelerators ?? 0) < 1)
    say(["model"], "needs gang.accelerators: the number of accelerators that each worker trains on");
  return problems;
}
