/** Where a gang may lie and how many workers it has: `fabric`, `selector`, `spread`, `elastic`, `gang.share`, `gang.profile`. */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { sliceFaults } from "./slices.ts";
import type { WorkloadSpec } from "./workload-spec.ts";
import { entries, fields, leaf, optionalLeaf, readInteger, readName } from "./field.ts";
import { readThousandths } from "./notation/quantities.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

const workersRange = { min: 1, max: limits.WORKERS_MAX };
const workers = { type: "integer", minimum: 1, maximum: workersRange.max };
const level = { type: "string", examples: ["leaf", "node"] };

const readWorkers = (value: unknown): Reading<number> => readInteger(value, workersRange);
const readLevel = (value: unknown): Reading<string> => readName(value, names.fabricName);
const maybe =
  <Value>(readValue: (value: unknown) => Reading<Value>) =>
  (value: unknown): Reading<Value | null> =>
    readValue(value);

const elasticFields = fields(
  {
    min: optionalLeaf(
      { description: "It runs with this many; left out, gang.workers.", ...workers },
      null,
      maybe(readWorkers),
    ),
    max: optionalLeaf(
      { description: "It grows to this many as it may; left out, gang.workers.", ...workers },
      null,
      maybe(readWorkers),
    ),
    throughput: optionalLeaf(
      {
        description:
          "What 1, 2, … up to max workers get done, in multiples of what one does alone, in steps of a thousandth: further workers go to whom they bring most. Left out, worked out from `model` where it is there.",
        type: "array",
        items: { type: ["number", "string"], minimum: 0 },
        examples: [[1, 1.95, 2.8, 3.5]],
      },
      null,
      readThroughput,
    ),
  },
  { meant: { minimum: "min", least: "min", minWorkers: "min", maximum: "max", most: "max", workers: "max" } },
);

function readThroughput(value: unknown): Reading<readonly number[] | null> {
  const { THROUGHPUT_SIZES_MAX: max } = limits;
  if (!Array.isArray(value)) return refuse(`must be a list like [1, 1.95, 2.8], got ${shown(value)}`);
  if (value.length > max) return refuse(`must have at most ${max} sizes, got ${value.length}`);
  const curve: number[] = [];
  for (const each of value as readonly unknown[]) {
    const reading = readThousandths(each, { range: { min: 0, max: limits.THROUGHPUT_MILLI_MAX }, noun: "a worker" });
    if (!reading.ok) return reading;
    curve.push(reading.value);
  }
  return read(curve);
}

const sliceFields = fields({
  workers: leaf({ description: "How many workers share a domain.", ...workers }, readWorkers),
  within: leaf({ description: "The level of that domain.", ...level }, readLevel),
});

export const fabricFields = fields(
  {
    within: optionalLeaf(
      { description: "All workers in one domain of this level; it waits until there is one.", ...level },
      null,
      maybe(readLevel),
    ),
    prefer: optionalLeaf(
      { description: "In as narrow a domain as can be had, from this level up to `within`.", ...level },
      null,
      maybe(readLevel),
    ),
    slices: z
      .array(sliceFields, { error: "must be a list like [{ workers: 4, within: leaf }]" })
      .max(limits.SLICES_MAX)
      .optional()
      .meta({ description: "Workers that must share a domain, so many at a time, the widest level first." }),
  },
  { meant: { require: "within", required: "within", preferred: "prefer", level: "within" } },
);

const readLabelName = (value: unknown): Reading<string> => readName(value, names.labelName);

/** A label's value. YAML reads `rack: 7` as a number; labels are text. */
export function readLabel(key: string, value: unknown): Reading<string> {
  const name = readLabelName(key);
  return name.ok ? readName(value, names.labelValue) : name;
}

const spreadFields = fields(
  {
    topologyKey: leaf(
      { description: "The label whose values are told apart.", type: "string", examples: ["rack"] },
      readLabelName,
    ),
    maxPerDomain: optionalLeaf(
      { description: "The most workers on nodes with one value of it.", ...workers, default: 1 },
      1,
      readWorkers,
    ),
  },
  { meant: { label: "topologyKey", over: "topologyKey", max: "maxPerDomain", maxSkew: "maxPerDomain" } },
);

export const shareLeaf = optionalLeaf(
  {
    description: "The part of one accelerator that is enough for a worker, in steps of a thousandth.",
    type: ["number", "string"],
    exclusiveMinimum: 0,
    exclusiveMaximum: 1,
    examples: [0.5],
  },
  null,
  (value): Reading<number | null> => {
    if (value === 1 || value === "1") return refuse("must be below 1; leave it out for whole accelerators");
    return readThousandths(value, { range: { min: 1, max: 999 }, noun: "an accelerator" });
  },
);

export const profileLeaf = optionalLeaf(
  {
    description: "The part of one accelerator that a worker has, of those that the pool's accelerators divide into.",
    type: "string",
    examples: ["1g.10gb", "3g.40gb"],
  },
  null,
  (value): Reading<string | null> => readName(value, names.migProfile),
);

export const placementShape = {
  elastic: elasticFields.optional().meta({ description: "How few and how many workers will do." }),
  fabric: fabricFields.optional().meta({ description: "Where in the fabric the workers may lie." }),
  selector: entries(
    {
      description: "Only nodes that carry these labels.",
      additionalProperties: { type: "string" },
      examples: [{ rack: "r1" }],
    },
    limits.LABELS_MAX,
    readLabel,
  ),
  spread: spreadFields.optional().meta({ description: "How its workers are spread over failure domains." }),
};

export interface Placement {
  readonly gang: {
    readonly taskGroups?: unknown;
    readonly workers: number | null;
    readonly accelerators: number | null;
    readonly share: number | null;
    readonly profile: string | null;
  };
  readonly elastic?: z.output<typeof elasticFields> | undefined;
  readonly fabric?: z.output<typeof fabricFields> | undefined;
  readonly selector: Readonly<Record<string, string>>;
  readonly spread?: z.output<typeof spreadFields> | undefined;
}

export interface FieldProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Workers, accelerators and shares as the wire has them; `minWorkers` only where it is elastic, `shareMilli` only where it shares. */
export function gangSizeOf({
  gang,
  elastic,
}: Placement): Pick<
  WorkloadSpec["gang"],
  "workers" | "accelerators" | "minWorkers" | "shareMilli" | "profile" | "throughputMilli"
> {
  const most = elastic?.max ?? gang.workers ?? elastic?.min ?? 1;
  const least = elastic?.min ?? (elastic === undefined ? most : (gang.workers ?? 1));
  return {
    workers: most,
    accelerators: gang.accelerators ?? (gang.share === null && gang.profile === null ? 0 : 1),
    ...(gang.share === null ? {} : { shareMilli: gang.share }),
    ...(gang.profile === null ? {} : { profile: gang.profile }),
    ...(least < most ? { minWorkers: least } : {}),
    ...(least < most && elastic?.throughput != null ? { throughputMilli: [...elastic.throughput] } : {}),
  };
}

/** What is wrong between fields that are each fine. */
export function placementProblems({ gang, elastic, fabric }: Placement): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const say = (path: readonly string[], message: string): void => void problems.push({ path, message });
  if (elastic !== undefined) {
    const { min, max, throughput } = elastic;
    const most = max ?? gang.workers ?? min ?? 1;
    if (throughput !== null && throughput.length !== most)
      say(["elastic", "throughput"], `must name every number of workers up to ${most}, got ${throughput.length}`);
    if (min === null && max === null) say(["elastic"], "needs min, max or both");
    if (min !== null && max !== null && min > max) say(["elastic", "min"], `must be at most max, ${max}, got ${min}`);
    else if (gang.workers !== null && min !== null && gang.workers < min)
      say(
        ["gang", "workers"],
        `must be at least elastic.min, ${min}, got ${gang.workers}; leave it out where elastic says both`,
      );
    else if (gang.workers !== null && max !== null && gang.workers > max)
      say(
        ["gang", "workers"],
        `must be at most elastic.max, ${max}, got ${gang.workers}; leave it out where elastic says both`,
      );
  }
  if (gang.share !== null && gang.accelerators !== null && gang.accelerators !== 1)
    say(
      ["gang", "share"],
      `is the part of one accelerator: leave gang.accelerators out or make it 1, got ${gang.accelerators}`,
    );
  if (gang.profile !== null && gang.accelerators !== null && gang.accelerators !== 1)
    say(
      ["gang", "profile"],
      `is a part of one accelerator: leave gang.accelerators out or make it 1, got ${gang.accelerators}`,
    );
  if (gang.profile !== null && gang.share !== null)
    say(["gang", "profile"], "leaves no room for a share: give one of them");
  if (gang.taskGroups === undefined)
    for (const { path, message } of sliceFaults(fabric?.slices ?? [], countsOf({ gang, elastic })))
      problems.push({ path: ["fabric", "slices", ...path], message });
  if (fabric !== undefined && fabric.within === null && fabric.prefer === null && fabric.slices === undefined)
    say(["fabric"], "needs within, prefer or slices");
  return problems;
}

/** The most workers and the least, by the fields that say them. */
function countsOf({ gang, elastic }: Pick<Placement, "gang" | "elastic">): Parameters<typeof sliceFaults>[1] {
  const { workers, minWorkers = workers } = gangSizeOf({ gang, elastic, selector: {} });
  const isLeast = elastic?.max == null && gang.workers === null && elastic?.min != null;
  const most = isLeast ? "elastic.min" : elastic?.max == null ? "gang.workers" : "elastic.max";
  const least = elastic?.min == null ? "gang.workers" : "elastic.min";
  return [
    { field: most, workers },
    { field: minWorkers === workers ? most : least, workers: minWorkers },
  ];
}

export const fabricOf = ({ within, prefer, slices }: z.output<typeof fabricFields>) => ({
  ...(within === null ? {} : { within }),
  ...(prefer === null ? {} : { prefer }),
  ...(slices === undefined ? {} : { slices }),
});

type Constraints = Pick<WorkloadSpec, "fabric" | "nodeSelector" | "spread">;

/** Fields of the spec; what was left out is left out. */
export function constraintsOf({ fabric, selector, spread }: Placement): Constraints {
  return {
    ...(fabric === undefined ? {} : { fabric: fabricOf(fabric) }),
    ...(Object.keys(selector).length === 0 ? {} : { nodeSelector: selector }),
    ...(spread === undefined ? {} : { spread }),
  };
}

/** The fields of the document that read back as the same wishes. */
export function constraintsText({ gang, fabric, nodeSelector, spread }: WorkloadSpec): Record<string, unknown> {
  const text: Record<string, unknown> = {};
  if (gang.taskGroups === undefined && gang.minWorkers !== undefined && gang.minWorkers < gang.workers)
    text["elastic"] = {
      min: gang.minWorkers,
      max: gang.workers,
      ...(gang.throughputMilli === undefined ? {} : { throughput: gang.throughputMilli.map((milli) => milli / 1000) }),
    };
  if (fabric !== undefined && Object.values(fabric).some((each) => each !== undefined)) text["fabric"] = { ...fabric };
  if (nodeSelector !== undefined && Object.keys(nodeSelector).length > 0) text["selector"] = { ...nodeSelector };
  if (spread !== undefined) text["spread"] = { ...spread };
  return text;
}
