/** Placement constraints of a gang, its behaviour when its size changes, and the data that it reads. */
import { z } from "zod";
import { defaulted, listOf, optional, record, required, unlessEmpty, type WrittenFields } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import { readName } from "../encoding/read-values.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { readThousandths } from "../notation/quantities.ts";
import type { Reading } from "../notation/reading.ts";

const workers = notation.integer(1, limits.WORKERS_MAX);
const level = notation.name(names.fabricName);
const label = notation.name(names.labelName);
const levels = ["leaf", "node"];

const throughput = notation.scalar({
  wire: limits.integer(0, limits.THROUGHPUT_MILLI_MAX),
  unit: "Thousandths.",
  kind: "number",
  editor: { type: ["number", "string"], minimum: 0 },
  read: (value) => readThousandths(value, { range: { min: 0, max: limits.THROUGHPUT_MILLI_MAX }, noun: "a worker" }),
  write: (milli) => milli / 1000,
});

/** Bounds of an elastic gang. In the API they are fields of the gang. */
export const elastic = record(
  {
    min: optional(workers, {
      wire: "minWorkers",
      description: "Minimum number of workers with which the gang runs.",
      otherwise: "`gang.workers`",
    }),
    max: optional(workers, {
      wire: null,
      description: "Maximum number of workers to which the gang grows.",
      otherwise: "`gang.workers`",
    }),
    throughput: optional(
      notation.list(throughput, {
        max: limits.THROUGHPUT_SIZES_MAX,
        noun: "sizes",
        example: "[1, 1.95, 2.8]",
        mayRepeat: true,
      }),
      {
        wire: "throughputMilli",
        description:
          "Throughput with 1, 2, … up to `max` workers, in multiples of one worker's throughput, in steps of a thousandth. Additional workers go to the gang that gains most; a gang without gain gets none.",
        examples: [[1, 1.95, 2.8, 3.5]],
        otherwise: "computed from `model` if it is given; else proportional to the workers",
      },
    ),
  },
  { meant: { minimum: "min", least: "min", minWorkers: "min", maximum: "max", most: "max", workers: "max" } },
);
export type Elastic = WrittenFields<typeof elastic.parts>;

const slice = record({
  workers: required(workers, { description: "Number of workers with consecutive ranks that share a domain." }),
  within: required(level, { description: "The level of the domain that they share.", examples: levels }),
});

export const fabric = record(
  {
    within: optional(level, {
      description: "Required level: all workers are in one domain of this level.",
      examples: levels,
      otherwise: "anywhere",
    }),
    prefer: optional(level, {
      description: "Preferred level: the narrowest possible domain, from this level up to `within`.",
      examples: levels,
      otherwise: "no preference",
    }),
    slices: optional(
      listOf(slice, { max: limits.SLICES_MAX, error: () => "must be a list like [{ workers: 4, within: leaf }]" }),
      {
        description:
          "Workers that must share a domain, the widest level first. The size of the first slice divides the gang's sizes; the size of each further slice divides the size of the slice before it.",
        otherwise: "none",
      },
    ),
  },
  {
    meant: { require: "within", required: "within", preferred: "prefer", level: "within" },
    wire: (shape) => z.strictObject(shape).meta({ id: "FabricSpec" }),
    toManifest: unlessEmpty,
  },
);
export type Fabric = WrittenFields<typeof fabric.parts>;

export const spread = record(
  {
    topologyKey: required(label, {
      description: "Label over whose values the workers are spread.",
      examples: ["rack"],
    }),
    maxPerDomain: defaulted(workers, 1, {
      description:
        "Maximum number of workers on nodes with the same value of the label. A node without the label is a domain.",
    }),
  },
  { meant: { label: "topologyKey", over: "topologyKey", max: "maxPerDomain", maxSkew: "maxPerDomain" } },
);

/** Reads the value of a label. YAML reads `rack: 7` as a number, but labels are text. */
export function readLabel(key: string, value: unknown): Reading<string> {
  const name = readName(key, names.labelName);
  return name.ok ? readName(value, names.labelValue) : name;
}

export const labels = notation.entriesOf({
  wire: names.labels,
  kind: "mapping of labels",
  editor: { additionalProperties: { type: "string" } },
  max: limits.LABELS_MAX,
  readEntry: readLabel,
});

const set = notation.name(names.setName);
const from = record(
  {
    set: required(set, { description: "The anti-affinity set." }),
    within: optional(level, {
      description: "Level of the fabric at which no domain may be shared. State either `within` or `topologyKey`.",
      examples: ["node", "leaf"],
    }),
    topologyKey: optional(label, {
      description: "Label whose values must differ: no nodes with the same value are shared.",
      examples: ["rack"],
    }),
  },
  {
    meant: { level: "within", label: "topologyKey", over: "topologyKey", name: "set" },
    check: ({ within, topologyKey }) =>
      (within === null) === (topologyKey === null) ? "needs exactly one of within and topologyKey" : undefined,
    wire: (shape) => {
      const whole = z.strictObject({
        ...shape,
        within: shape.within.unwrap(),
        topologyKey: shape.topologyKey.unwrap(),
      });
      return z.union([whole.omit({ topologyKey: true }), whole.omit({ within: true })]);
    },
  },
);

const exclusive = notation.scalar({
  wire: z.literal(true),
  kind: "`node`",
  editor: { enum: ["node"] },
  read: (value) => {
    const reading = notation.choice(["node"]).read(value);
    return reading.ok ? { ok: true, value: true as const } : reading;
  },
  write: () => "node",
});

/** Anti-affinity of a gang. In the API it is a field of the gang. */
export const antiAffinity = record(
  {
    sets: optional(notation.list(set, { max: limits.SETS_MAX, noun: "sets", example: "[chat]" }), {
      description: "Sets that the workload belongs to. Other work, in any team, can have anti-affinity to them.",
      examples: [["chat"]],
    }),
    from: optional(
      listOf(from, { max: limits.SETS_MAX, error: () => "must be a list like [{ set: chat, topologyKey: rack }]" }),
      {
        description:
          "Sets to which the workload has anti-affinity. The rule is symmetric: later work of such a set also avoids this workload.",
      },
    ),
    exclusive: optional(exclusive, {
      description: "Whether the workload shares its nodes with no other workload.",
      otherwise: "nodes are shared",
    }),
  },
  {
    meant: { set: "sets", labels: "sets", alone: "exclusive", antiAffinity: "from" },
    wire: (shape) => z.strictObject(shape).meta({ id: "AntiAffinitySpec" }),
  },
);

const dataset = notation.text(names.dataset, limits.DATASET_CHARS_MAX, "the name of a data set");
export const datasets = notation.list(dataset, {
  max: limits.DATASETS_MAX,
  noun: "entries",
  example: "[s3://corpus/v7]",
});
export const dataRule = notation.name(names.dataRule);

export const workloadData = record(
  {
    inputs: optional(datasets, {
      description:
        "Data sets that the workload reads, also artifacts (`dataset:corpus@6`), resolved at the submission. Pools that hold most of them are preferred.",
      examples: [["s3://corpus/v7"]],
    }),
    rule: optional(dataRule, {
      description: "The rule for its data: the workload runs only in pools that admit this rule.",
      examples: ["restricted"],
      otherwise: "any pool",
    }),
    store: optional(notation.name(names.storeName), {
      description:
        "Store to which its registered artifacts (`produces: [model:chat]`) are uploaded before the attempt counts as complete.",
      examples: ["lake"],
      otherwise: "they stay where they are",
    }),
  },
  { meant: { input: "inputs", datasets: "inputs", rules: "rule", tag: "rule", class: "rule" } },
);
