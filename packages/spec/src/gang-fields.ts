/** A gang as it is written: `gang` of a workload, all alike or in groups. */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { sliceFaults } from "./slices.ts";
import { gangOfGroups, type TaskGroup, type WorkloadSpec } from "./workload-spec.ts";
import { fields, leaf, optionalLeaf, readInteger, readName } from "./field.ts";
import {
  fabricFields,
  fabricOf,
  gangSizeOf,
  profileLeaf,
  shareLeaf,
  type FieldProblem,
  type Placement,
} from "./placement-fields.ts";
import * as quantities from "./notation/quantities.ts";
import { read, refuse, type Reading } from "./notation/reading.ts";

/** One core, so that an array of tasks that says nothing does not start all at once; the rest as on the wire. */
const DEFAULT_CORES_MILLI = 1_000;
const workersRange = { min: 1, max: limits.WORKERS_MAX };
const acceleratorsRange = { min: 0, max: limits.ACCELERATORS_PER_NODE_MAX };
const coresRange = { min: 0, max: limits.CORES_MILLI_MAX };
const memoryRange = { min: 0, max: limits.MEMORY_MIB_MAX };

export function readAcceleratorTypes(value: unknown): Reading<readonly string[]> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const { ACCELERATOR_TYPES_MAX: max } = limits;
  if (list.length > max) return refuse(`must name at most ${max} types, got ${list.length}`);
  const types: string[] = [];
  for (const each of list) {
    const reading = readName(each, names.acceleratorType);
    if (!reading.ok) return reading;
    if (types.includes(reading.value)) return refuse(`names ${reading.value} twice`);
    types.push(reading.value);
  }
  return read(types);
}

const workersLeaf = (description: string) =>
  optionalLeaf(
    { description, type: "integer", minimum: 1, maximum: workersRange.max, default: 1 },
    null,
    (value): Reading<number | null> => readInteger(value, workersRange),
  );

const workerShape = {
  accelerators: optionalLeaf(
    {
      description: "Accelerators per worker, all on one node.",
      type: "integer",
      minimum: 0,
      maximum: acceleratorsRange.max,
      default: 0,
    },
    null,
    (value): Reading<number | null> => readInteger(value, acceleratorsRange),
  ),
  share: shareLeaf,
  profile: profileLeaf,
  cores: optionalLeaf(
    {
      description: "Cores per worker, in steps of a thousandth.",
      type: ["number", "string"],
      minimum: 0,
      default: 1,
      examples: [4, 0.5],
    },
    null,
    (value): Reading<number | null> => quantities.readCores(value, coresRange),
  ),
  memory: optionalLeaf(
    {
      description: "Memory per worker; left out, none is set aside.",
      type: "string",
      pattern: quantities.memoryPattern,
      examples: ["512MiB", "900GiB"],
    },
    null,
    (value): Reading<number | null> => quantities.readMemory(value, memoryRange),
  ),
};

const groupNotes = {
  meant: {
    gpus: "accelerators",
    gpu: "accelerators",
    cpus: "cores",
    cpu: "cores",
    mem: "memory",
    ram: "memory",
    nodes: "workers",
    replicas: "workers",
    fraction: "share",
    mig: "profile",
    migProfile: "profile",
  },
};

const groupFields = fields(
  {
    name: leaf(
      { description: "What its workers are called, e.g. prefill.", type: "string", examples: ["prefill", "trainer"] },
      (value) => readName(value, names.groupName),
    ),
    workers: workersLeaf("How many workers it has."),
    min: optionalLeaf(
      {
        description: "The gang runs with this many of them and grows; left out, with all.",
        type: "integer",
        minimum: 1,
      },
      null,
      (value): Reading<number | null> => readInteger(value, workersRange),
    ),
    ...workerShape,
    accelerator: optionalLeaf(
      {
        description: "Types that will do for its workers, in order of preference; left out, as the workload says.",
        type: ["string", "array"],
        items: { type: "string" },
      },
      null,
      (value): Reading<readonly string[] | null> => readAcceleratorTypes(value),
    ),
    fabric: fabricFields.optional().meta({ description: "Where in the fabric its workers may lie." }),
  },
  { meant: { ...groupNotes.meant, minWorkers: "min" } },
);

export const gangFields = fields(
  {
    workers: workersLeaf("How many workers start together or not at all."),
    ...workerShape,
    taskGroups: z
      .array(groupFields, { error: "must be a list like [{ name: prefill, workers: 4, accelerators: 1 }]" })
      .min(1)
      .max(limits.GROUPS_MAX)
      .optional()
      .meta({
        description: "Unlike workers that start together or not at all, each group with what its workers need.",
      }),
  },
  { meant: { ...groupNotes.meant, minWorkers: "elastic.min", roles: "taskGroups", groups: "taskGroups" } },
);

type Group = z.output<typeof groupFields>;
type WorkerShapeFields = Pick<Group, "accelerators" | "share" | "profile" | "cores" | "memory">;

const shapeOf = ({ accelerators, share, profile, cores, memory }: WorkerShapeFields) => ({
  accelerators: accelerators ?? (share === null && profile === null ? 0 : 1),
  coresMilli: cores ?? DEFAULT_CORES_MILLI,
  memoryMib: memory ?? 0,
  ...(share === null ? {} : { shareMilli: share }),
  ...(profile === null ? {} : { profile }),
});

function groupOf(group: Group): TaskGroup {
  const { name, min, accelerator, fabric } = group;
  const workers = group.workers ?? min ?? 1;
  return {
    name,
    workers,
    ...(min === null || min === workers ? {} : { minWorkers: min }),
    ...shapeOf(group),
    ...(accelerator === null ? {} : { acceleratorTypes: [...accelerator] }),
    ...(fabric === undefined ? {} : { fabric: fabricOf(fabric) }),
  };
}

interface WrittenGang extends Placement {
  readonly gang: z.output<typeof gangFields>;
  readonly model?: unknown;
  readonly onNodeLoss?: string | null;
}

export function gangOf(written: WrittenGang): WorkloadSpec["gang"] {
  const { taskGroups: groups } = written.gang;
  if (groups !== undefined) return gangOfGroups(groups.map(groupOf));
  return { ...gangSizeOf(written), ...shapeOf(written.gang) };
}

/** What is wrong between the groups, and between them and what is said of all workers. */
export function gangProblems({ gang, elastic, fabric, model, onNodeLoss }: WrittenGang): FieldProblem[] {
  const { taskGroups: groups } = gang;
  if (groups === undefined) return [];
  const problems: FieldProblem[] = [];
  const say = (path: FieldProblem["path"], message: string): void => void problems.push({ path, message });
  for (const field of ["workers", "accelerators", "share", "profile", "cores", "memory"] as const)
    if (gang[field] !== null) say(["gang", field], "is said group by group where gang.taskGroups is given");
  if (onNodeLoss === "replace")
    say(["onNodeLoss"], "is not supported yet where gang.taskGroups is given: leave it out");
  if (elastic !== undefined) say(["elastic"], "is said group by group, as min, where gang.taskGroups is given");
  if (model !== undefined)
    say(["model"], "is checked for workers that are all alike: leave it out with gang.taskGroups");
  if (fabric?.slices !== undefined)
    say(["fabric", "slices"], "are said group by group, in its fabric, where gang.taskGroups is given");
  groups.forEach((group, index) => {
    const path = ["gang", "taskGroups", index];
    if (groups.findIndex(({ name }) => name === group.name) < index)
      say([...path, "name"], `${group.name} is the name of another group of the gang`);
    if (group.min !== null && group.workers !== null && group.min > group.workers)
      say([...path, "min"], `must be at most workers, ${group.workers}, got ${group.min}`);
    const { workers, minWorkers = workers } = groupOf(group);
    const counts = [
      { field: group.workers === null && group.min !== null ? "min" : "workers", workers },
      { field: "min", workers: minWorkers },
    ];
    for (const { path: at, message } of sliceFaults(group.fabric?.slices ?? [], counts))
      say([...path, "fabric", "slices", ...at], message);
    if (group.share !== null && (group.accelerators ?? 1) !== 1)
      say([...path, "share"], `is the part of one accelerator: leave accelerators out or make it 1`);
    if (group.profile !== null && (group.accelerators ?? 1) !== 1)
      say([...path, "profile"], `is a part of one accelerator: leave accelerators out or make it 1`);
    if (group.profile !== null && group.share !== null)
      say([...path, "profile"], "leaves no room for a share: give one of them");
  });
  return problems;
}

const shapeText = ({ accelerators, shareMilli, profile, coresMilli, memoryMib }: WorkloadSpec["gang"]) => ({
  accelerators,
  ...(shareMilli === undefined ? {} : { share: shareMilli / 1000 }),
  ...(profile === undefined ? {} : { profile }),
  cores: quantities.writeCores(coresMilli),
  memory: quantities.writeMemory(memoryMib),
});

/** What reads back as the same gang, but for `elastic`. */
export function gangText(gang: WorkloadSpec["gang"]): Record<string, unknown> {
  if (gang.taskGroups === undefined) return { workers: gang.workers, ...shapeText(gang) };
  const groups = gang.taskGroups.map((group) => ({
    name: group.name,
    workers: group.workers,
    ...(group.minWorkers === undefined || group.minWorkers === group.workers ? {} : { min: group.minWorkers }),
    ...shapeText(group),
    ...(group.acceleratorTypes === undefined ? {} : { accelerator: [...group.acceleratorTypes] }),
    ...(group.fabric === undefined ? {} : { fabric: { ...group.fabric } }),
  }));
  return { taskGroups: groups };
}
