/** A gang: workers that start together or not at all, either all alike or in task groups. */
import { z } from "zod";
import {
  defaulted,
  listOf,
  optional,
  record,
  required,
  wireShape,
  type WireShape,
  type WrittenFields,
} from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import type { FieldProblem } from "../document-problem.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { sliceFaults } from "./slices.ts";
import { antiAffinity, elastic, fabric, type Elastic, type Fabric } from "./placement.ts";

const workers = notation.integer(1, limits.WORKERS_MAX);

/** Accelerator types that the work accepts, in order of preference. */
export const acceleratorTypes = notation.list(notation.name(names.acceleratorType), {
  max: limits.ACCELERATOR_TYPES_MAX,
  noun: "types",
  example: "[H200, H100]",
  orSingle: true,
});

/** Amounts that a worker reserves on its node. Outside the engine, a new amount is declared only here. */
const amountFields = {
  accelerators: defaulted(notation.integer(0, limits.ACCELERATORS_PER_NODE_MAX), 0, {
    description: "Number of accelerators of each worker, all on one node.",
  }),
  // The default is one core, so that an array without stated cores does not start all tasks at once.
  cores: defaulted(notation.cores(limits.CORES_MILLI_MAX), 1_000, {
    wire: "coresMilli",
    description: "Number of cores of each worker, in steps of a thousandth.",
    examples: [4, 0.5],
  }),
  memory: defaulted(notation.memory(limits.MEMORY_MIB_MAX), 0, {
    wire: "memoryMib",
    description: "Memory for each worker.",
    examples: ["512MiB", "900GiB"],
  }),
  networkGbps: optional(notation.integer(1, 100_000), {
    description:
      "Network bandwidth of each worker in Gbps. It is reserved from the `networkGbps` that the pool states for its nodes.",
    examples: [100],
    otherwise: "none is reserved",
  }),
};

/** Fields of a worker that holds a fraction or a MIG slice of one accelerator. */
const partFields = {
  share: optional(notation.share("an accelerator", "whole accelerators"), {
    wire: "shareMilli",
    description:
      "Fraction of one accelerator that each worker gets, in steps of a thousandth. `accelerators` is then 1.",
    examples: [0.5],
    otherwise: "whole accelerators",
  }),
  acceleratorMemory: optional(notation.memory(limits.MEMORY_MIB_MAX, 1), {
    wire: "acceleratorMemoryMib",
    description:
      "Memory of one accelerator for each worker. The node determines the fraction: its pool states `acceleratorMemory`. `accelerators` is 1 then. Not beside `share`.",
    examples: ["20GiB"],
    otherwise: "whole accelerators",
  }),
  profile: optional(notation.name(names.migProfile), {
    description:
      "MIG profile of each worker, one that the pool's accelerators offer. `accelerators` is 1 then. Not beside `share` and `acceleratorMemory`.",
    examples: ["1g.10gb", "3g.40gb"],
    otherwise: "whole accelerators",
  }),
};

const workerFields = { ...amountFields, ...partFields };

const meant = {
  gpus: "accelerators",
  gpu: "accelerators",
  cpus: "cores",
  cpu: "cores",
  mem: "memory",
  ram: "memory",
  nodes: "workers",
  replicas: "workers",
  fraction: "share",
  gpuMemory: "acceleratorMemory",
  mig: "profile",
  migProfile: "profile",
};

interface CountedGang {
  readonly workers: number;
  readonly minWorkers?: number | undefined;
  readonly accelerators: number;
  readonly shareMilli?: number | undefined;
  readonly acceleratorMemoryMib?: number | undefined;
  readonly profile?: string | undefined;
}

const partsStated = ({ shareMilli, acceleratorMemoryMib, profile }: CountedGang): number =>
  [shareMilli, acceleratorMemoryMib, profile].filter((stated) => stated !== undefined).length;

/** Adds the rules between the fields of a worker to a schema of the API. */
const checked = <Wire extends z.ZodType<CountedGang>>(wire: Wire): Wire =>
  wire
    .refine((gang) => partsStated(gang) === 0 || gang.accelerators === 1, {
      message: "must have exactly 1 accelerator with a share, accelerator memory or a profile",
    })
    .refine((gang) => partsStated(gang) <= 1, {
      message: "must have only one of share, accelerator memory and profile",
    })
    .refine(({ minWorkers, workers: most }) => minWorkers === undefined || minWorkers <= most, {
      message: "must have a minimum of workers that is not above the maximum",
    });

const taskGroup = record(
  {
    name: required(notation.name(names.groupName), {
      description: "The name of the group, unique within the gang. Its workers find it in HEADROOM_GROUP.",
      examples: ["prefill", "trainer"],
    }),
    workers: defaulted(workers, 1, { description: "Number of workers of the group." }),
    min: optional(workers, {
      wire: "minWorkers",
      description: "Minimum number of workers with which the group runs; it grows up to `workers`.",
      otherwise: "`workers`",
    }),
    ...workerFields,
    accelerator: optional(acceleratorTypes, {
      wire: "acceleratorTypes",
      description: "Accepted types for its workers, in order of preference. A group never mixes types.",
      otherwise: "the types of the workload",
    }),
    fabric: optional(fabric, {
      description: "Fabric constraints of its workers, in addition to the workload's.",
    }),
  },
  {
    meant: { ...meant, minWorkers: "min" },
    wire: (shape) => checked(z.strictObject(shape)).meta({ id: "TaskGroup" }),
    toWire: ({ minWorkers, ...wire }, written) => {
      // A group that states only its minimum has that number of workers. A minimum equal to the size is dropped,
      // because the group is then not elastic.
      const size = written.workers ?? written.min ?? 1;
      const least = minWorkers === undefined || minWorkers === size ? {} : { minWorkers };
      return { ...wire, workers: size, ...least, ...oneAccelerator(written) };
    },
  },
);

interface WrittenWorker {
  readonly accelerators: number | null;
  readonly share: number | null;
  readonly acceleratorMemory: number | null;
  readonly profile: string | null;
}

/** A share, memory amount or profile implies one accelerator. */
const oneAccelerator = ({ accelerators, share, acceleratorMemory, profile }: WrittenWorker) =>
  accelerators === null && (share !== null || acceleratorMemory !== null || profile !== null)
    ? { accelerators: 1 }
    : {};

export type TaskGroup = z.output<typeof taskGroup.wire>;
type WorkerShape = z.output<z.ZodObject<WireShape<typeof workerFields>>>;

export interface GangSpec extends WorkerShape {
  workers: number;
  minWorkers?: number | undefined;
  throughputMilli?: number[] | undefined;
  taskGroups?: TaskGroup[] | undefined;
  antiAffinity?: z.output<typeof antiAffinity.wire> | undefined;
}

/** The gang that these task groups form. It has the sum of their workers, and the largest amounts of any worker. */
export function gangOfGroups(groups: TaskGroup[]): GangSpec {
  const sum = (of: (group: TaskGroup) => number): number => groups.reduce((total, group) => total + of(group), 0);
  const all = sum((group) => group.workers);
  const least = sum((group) => group.minWorkers ?? group.workers);
  return { workers: all, ...largestNeeds(groups), ...(least < all ? { minWorkers: least } : {}), taskGroups: groups };
}

type Amounts = z.output<z.ZodObject<WireShape<typeof amountFields>>>;

function largestNeeds(groups: readonly TaskGroup[]): Amounts {
  const amounts = Object.entries(amountFields).map(([name, field]) => (field.wireName ?? name) as keyof Amounts);
  const largest = amounts.flatMap((amount): [string, number][] => {
    const stated = groups.flatMap((group) => group[amount] ?? []);
    return stated.length === 0 ? [] : [[amount, Math.max(...stated)]];
  });
  return Object.fromEntries(largest) as unknown as Amounts;
}

export const gang = record(
  {
    workers: defaulted(workers, 1, { description: "A gang: workers that start together or not at all." }),
    ...workerFields,
    taskGroups: optional(
      listOf(taskGroup, {
        min: 1,
        max: limits.GROUPS_MAX,
        error: () => "must be a list like [{ name: prefill, workers: 4, accelerators: 1 }]",
      }),
      {
        description:
          "Groups of workers that differ, which start together or not at all. They replace the fields above: the gang has the sum of their workers.",
        otherwise: "all workers are alike",
      },
    ),
  },
  {
    meant: { ...meant, minWorkers: "elastic.min", roles: "taskGroups", groups: "taskGroups" },
    wire: (shape) =>
      checked(z.strictObject({ ...shape, ...wireShape(elastic.parts), antiAffinity: antiAffinity.wire.optional() }))
        .refine(({ taskGroups = [] }) => new Set(taskGroups.map((group) => group.name)).size === taskGroups.length, {
          message: "must not give two groups the same name",
        })
        .overwrite((spec) => {
          if (spec.taskGroups === undefined) return spec;
          const away = spec.antiAffinity === undefined ? {} : { antiAffinity: spec.antiAffinity };
          return { ...gangOfGroups(spec.taskGroups), ...away };
        })
        .refine((spec) => spec.workers <= limits.WORKERS_MAX, {
          message: `must have at most ${limits.WORKERS_MAX} workers over all groups`,
        })
        .refine(({ throughputMilli: curve, workers: most }) => curve === undefined || curve.length === most, {
          message: "must state the throughput for every number of workers up to `workers`, or none",
        })
        .refine(({ throughputMilli: curve, minWorkers }) => curve === undefined || minWorkers !== undefined, {
          message: "must not state a throughput for other numbers of workers",
        })
        .meta({ id: "GangSpec" }),
    toWire: (wire, written) => {
      const { taskGroups } = wire;
      return taskGroups === undefined
        ? { ...wire, ...oneAccelerator(written) }
        : gangOfGroups(taskGroups as TaskGroup[]);
    },
    toManifest: (written, { taskGroups }) =>
      taskGroups === undefined ? written : { taskGroups: written["taskGroups"] },
  },
);

export const gangSpec = gang.wire;
export type WrittenGang = WrittenFields<typeof gang.parts>;

/** The number of workers. For an elastic gang, also the minimum and the throughput curve. */
export function elasticSize({ workers: most }: WrittenGang, bounds: Elastic | null) {
  const size = bounds?.max ?? most ?? bounds?.min ?? 1;
  const least = bounds?.min ?? (bounds === null ? size : (most ?? 1));
  return {
    workers: size,
    ...(least < size ? { minWorkers: least } : {}),
    ...(least < size && bounds?.throughput != null ? { throughputMilli: [...bounds.throughput] } : {}),
  };
}

interface SizedWorkload {
  readonly gang: WrittenGang;
  readonly elastic: Elastic | null;
  readonly fabric: Fabric | null;
  readonly model: unknown;
  readonly onNodeLoss: string | null;
}

/**
 * Problems between fields of the gang, and between the gang and those fields of the workload that apply to all its
 * workers.
 */
export function gangProblems(written: SizedWorkload): FieldProblem[] {
  const { gang: all, elastic: bounds, fabric: levels } = written;
  if (all.taskGroups !== null) return groupProblems(written, all.taskGroups);
  const { workers: size, minWorkers = size } = elasticSize(all, bounds);
  const isLeast = bounds?.max == null && all.workers === null && bounds?.min != null;
  const most = isLeast ? "elastic.min" : bounds?.max == null ? "gang.workers" : "elastic.max";
  const least = bounds?.min == null ? "gang.workers" : "elastic.min";
  const counts = [
    { field: most, workers: size },
    { field: minWorkers === size ? most : least, workers: minWorkers },
  ];
  return [...partProblems(all, ["gang"]), ...elasticProblems(all, bounds), ...sliceProblems(levels, counts, [])];
}

function elasticProblems({ workers: said }: WrittenGang, bounds: Elastic | null): FieldProblem[] {
  if (bounds === null) return [];
  const { min, max, throughput } = bounds;
  const most = max ?? said ?? min ?? 1;
  const problems: FieldProblem[] = [];
  const say = (path: readonly string[], message: string): void => void problems.push({ path, message });
  if (throughput !== null && throughput.length !== most)
    say(["elastic", "throughput"], `must name every number of workers up to ${most}, got ${throughput.length}`);
  if (min === null && max === null) say(["elastic"], "needs min, max or both");
  const both = "leave it out if elastic states both min and max";
  if (min !== null && max !== null && min > max) say(["elastic", "min"], `must be at most max, ${max}, got ${min}`);
  else if (said !== null && min !== null && said < min)
    say(["gang", "workers"], `must be at least elastic.min, ${min}, got ${said}; ${both}`);
  else if (said !== null && max !== null && said > max)
    say(["gang", "workers"], `must be at most elastic.max, ${max}, got ${said}; ${both}`);
  return problems;
}

type Path = FieldProblem["path"];

function partProblems({ accelerators, share, acceleratorMemory, profile }: WrittenWorker, path: Path): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const one = `one accelerator: leave ${path.length > 1 ? "" : "gang."}accelerators out or set it to 1, got ${accelerators}`;
  const isOne = accelerators === null || accelerators === 1;
  if (share !== null && !isOne) problems.push({ path: [...path, "share"], message: `is the part of ${one}` });
  if (acceleratorMemory !== null && !isOne)
    problems.push({ path: [...path, "acceleratorMemory"], message: `is of the memory of ${one}` });
  if (acceleratorMemory !== null && share !== null)
    problems.push({
      path: [...path, "acceleratorMemory"],
      message: "cannot be combined with a share: give only one of them",
    });
  if (acceleratorMemory !== null && profile !== null)
    problems.push({
      path: [...path, "profile"],
      message: "cannot be combined with accelerator memory: give only one of them",
    });
  if (profile !== null && !isOne) problems.push({ path: [...path, "profile"], message: `is a part of ${one}` });
  if (profile !== null && share !== null)
    problems.push({ path: [...path, "profile"], message: "cannot be combined with a share: give only one of them" });
  return problems;
}

const sliceProblems = (levels: Fabric | null, counts: Parameters<typeof sliceFaults>[1], path: Path): FieldProblem[] =>
  sliceFaults(levels?.slices ?? [], counts).map((fault) => ({
    path: [...path, "fabric", "slices", ...fault.path],
    message: fault.message,
  }));

/**
 * Problems of a gang with task groups: fields for all workers that each group must state separately, and problems of
 * single groups.
 */
function groupProblems(written: SizedWorkload, groups: NonNullable<WrittenGang["taskGroups"]>): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const say = (path: Path, message: string): void => void problems.push({ path, message });
  for (const field of ["workers", ...Object.keys(workerFields)] as ("workers" | keyof typeof workerFields)[])
    if (written.gang[field] !== null) say(["gang", field], "must be stated for each group if gang.taskGroups is given");
  if (written.onNodeLoss === "replace") say(["onNodeLoss"], "is not supported yet with gang.taskGroups: leave it out");
  if (written.elastic !== null) say(["elastic"], "must be stated for each group, as min, if gang.taskGroups is given");
  if (written.model !== null) say(["model"], "needs workers that are all alike: leave it out with gang.taskGroups");
  if (written.fabric?.slices != null)
    say(["fabric", "slices"], "must be stated for each group, in its fabric, if gang.taskGroups is given");
  groups.forEach((group, index) => {
    const path = ["gang", "taskGroups", index];
    const { name, workers: most, min } = group;
    if (groups.findIndex((each) => each.name === name) < index)
      say([...path, "name"], `${name} is already the name of another group of the gang`);
    if (min !== null && most !== null && min > most)
      say([...path, "min"], `must be at most workers, ${most}, got ${min}`);
    const size = most ?? min ?? 1;
    const counts = [
      { field: most === null && min !== null ? "min" : "workers", workers: size },
      { field: "min", workers: min ?? size },
    ];
    problems.push(...sliceProblems(group.fabric, counts, path), ...partProblems(group, path));
  });
  return problems;
}
