/**
 * What is submitted. The parsed form has every field and equals the engine's `WorkloadSpec`; on the wire whatever has an
 * obvious default may be left out.
 */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { integer } from "./limits.ts";
import { sliceFaultsIn } from "./slices.ts";

/** Three tries in all, a second apart at first: enough for a flaky node, too few to hide a broken program. */
export const defaultRetries = { max: 2, backoffMs: 1_000, backoffMaxMs: 300_000 };
/** As Kubernetes' `terminationGracePeriodSeconds`: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/. */
export const DEFAULT_GRACE_TIMEOUT_MS = 30_000;
export const DEFAULT_TEAM = "default";

const fabricSpec = z
  .strictObject({
    within: names.fabricName.optional().meta({ description: "All workers in one domain of this level." }),
    prefer: names.fabricName
      .optional()
      .meta({ description: "In as narrow a domain as can be had, from this level up." }),
    slices: z
      .array(z.strictObject({ workers: integer(1, limits.WORKERS_MAX), within: names.fabricName }))
      .max(limits.SLICES_MAX)
      .optional()
      .meta({ description: "Workers that must share a domain, so many at a time." }),
  })
  .meta({ id: "FabricSpec" });

const workerShape = {
  accelerators: integer(0, limits.ACCELERATORS_PER_NODE_MAX)
    .default(0)
    .meta({ description: "Accelerators per worker, all on one node." }),
  coresMilli: integer(0, limits.CORES_MILLI_MAX).default(0).meta({ description: "Thousandths of a core per worker." }),
  memoryMib: integer(0, limits.MEMORY_MIB_MAX).default(0).meta({ description: "MiB per worker." }),
  shareMilli: integer(1, 999)
    .optional()
    .meta({ description: "Thousandths of one accelerator, for a worker that shares it; `accelerators` is 1 then." }),
  profile: names.migProfile.optional().meta({
    description:
      "A part of one accelerator that the hardware divides, for a worker that has one; `accelerators` is 1 then. Not beside `shareMilli`.",
  }),
};
const workerCounts = {
  workers: integer(1, limits.WORKERS_MAX).default(1),
  minWorkers: integer(1, limits.WORKERS_MAX)
    .optional()
    .meta({ description: "Runs with this many and grows to `workers`; left out: all or nothing." }),
};
interface CountedGang {
  readonly workers: number;
  readonly minWorkers?: number | undefined;
  readonly accelerators: number;
  readonly shareMilli?: number | undefined;
  readonly profile?: string | undefined;
}
const sharesOne = ({ shareMilli, profile, accelerators }: CountedGang): boolean =>
  (shareMilli === undefined && profile === undefined) || accelerators === 1;
const isOnePart = ({ shareMilli, profile }: CountedGang): boolean => shareMilli === undefined || profile === undefined;
const leastIsLess = ({ minWorkers, workers }: CountedGang): boolean =>
  minWorkers === undefined || minWorkers <= workers;
const sharesOneRule = { message: "must have 1 accelerator where it shares one or has a part of one" };
const isOnePartRule = { message: "must have a share or a part by profile, not both" };
const leastIsLessRule = { message: "must not have more workers at least than at most" };

const acceleratorTypes = z.array(names.acceleratorType).max(limits.ACCELERATOR_TYPES_MAX);

const antiAffinitySpec = z
  .strictObject({
    sets: z
      .array(names.setName)
      .max(limits.SETS_MAX)
      .optional()
      .meta({ description: "Sets that the work belongs to; others may keep away from them." }),
    from: z
      .array(
        z.union([
          z.strictObject({
            set: names.setName,
            within: names.fabricName.meta({ description: "In no common domain of this level of the fabric." }),
          }),
          z.strictObject({
            set: names.setName,
            topologyKey: names.labelName.meta({ description: "On no nodes with the same value of this label." }),
          }),
        ]),
      )
      .max(limits.SETS_MAX)
      .optional()
      .meta({ description: "Sets from whose work it keeps away; that keeps away from it as well." }),
    exclusive: z.literal(true).optional().meta({ description: "Nobody else is on its nodes." }),
  })
  .meta({ id: "AntiAffinitySpec" });

const taskGroup = z
  .strictObject({
    name: names.groupName,
    ...workerCounts,
    ...workerShape,
    acceleratorTypes: acceleratorTypes
      .optional()
      .meta({ description: "In order of preference; left out: as the workload says. A group never mixes types." }),
    fabric: fabricSpec
      .optional()
      .meta({ description: "Where its workers may lie, beyond what the workload says of all." }),
  })
  .refine(sharesOne, sharesOneRule)
  .refine(isOnePart, isOnePartRule)
  .refine(leastIsLess, leastIsLessRule)
  .meta({ id: "TaskGroup" });

export const gangSpec = z
  .strictObject({
    ...workerCounts,
    ...workerShape,
    throughputMilli: z.array(integer(0, limits.THROUGHPUT_MILLI_MAX)).max(limits.THROUGHPUT_SIZES_MAX).optional().meta({
      description:
        "What 1, 2, … up to `workers` workers get done in the same time, in thousandths of what one does alone; left out: not known.",
    }),
    antiAffinity: antiAffinitySpec.optional(),
    taskGroups: z.array(taskGroup).min(1).max(limits.GROUPS_MAX).optional().meta({
      description:
        "Groups of unlike workers that start together or not at all. `workers` and `minWorkers` are then their sums, the amounts per worker the largest of any; what is given for them is not looked at.",
    }),
  })
  .refine(sharesOne, sharesOneRule)
  .refine(isOnePart, isOnePartRule)
  .refine(leastIsLess, leastIsLessRule)
  .refine(({ taskGroups = [] }) => new Set(taskGroups.map(({ name }) => name)).size === taskGroups.length, {
    message: "must not name two groups alike",
  })
  .overwrite((gang) => {
    if (gang.taskGroups === undefined) return gang;
    return {
      ...gangOfGroups(gang.taskGroups),
      ...(gang.antiAffinity === undefined ? {} : { antiAffinity: gang.antiAffinity }),
    };
  })
  .refine(({ workers }) => workers <= limits.WORKERS_MAX, {
    message: `must have at most ${limits.WORKERS_MAX} workers in all groups`,
  })
  .refine(({ throughputMilli: curve, workers }) => curve === undefined || curve.length === workers, {
    message: "must say what each number of workers up to `workers` gets done, or nothing",
  })
  .refine(({ throughputMilli: curve, minWorkers }) => curve === undefined || minWorkers !== undefined, {
    message: "must not say what other numbers of workers get done where there are none",
  })
  .meta({ id: "GangSpec" });

/** What a gang of these groups has in all, and what its largest workers need. */
export function gangOfGroups(groups: TaskGroup[]): GangSpec {
  const sum = (of: (group: TaskGroup) => number): number => groups.reduce((total, group) => total + of(group), 0);
  const most = (of: (group: TaskGroup) => number): number => Math.max(...groups.map(of));
  const workers = sum((group) => group.workers);
  const minWorkers = sum((group) => group.minWorkers ?? group.workers);
  return {
    workers,
    accelerators: most(({ accelerators }) => accelerators),
    coresMilli: most(({ coresMilli }) => coresMilli),
    memoryMib: most(({ memoryMib }) => memoryMib),
    ...(minWorkers < workers ? { minWorkers } : {}),
    taskGroups: groups,
  };
}

export const retrySpec = z
  .strictObject({
    max: integer(0, limits.RETRIES_MAX).default(defaultRetries.max),
    backoffMs: integer(0, limits.GRACE_MS_MAX).default(defaultRetries.backoffMs),
    backoffMaxMs: integer(0, limits.DURATION_MS_MAX).default(defaultRetries.backoffMaxMs),
  })
  .meta({ id: "RetrySpec" });

const environment = z
  .record(names.environmentName, names.environmentValue)
  .refine((entries) => Object.keys(entries).length <= limits.ENVIRONMENT_ENTRIES_MAX, {
    message: `must have at most ${limits.ENVIRONMENT_ENTRIES_MAX} entries`,
  });

const specCommon = {
  name: names.workloadName,
  team: names.teamName.default(DEFAULT_TEAM),
  run: names.commandLine.meta({ description: "A shell command line, run by `/bin/sh -c` once for each worker." }),
  dir: names.absolutePath.nullable().default(null).meta({ description: "Working directory; null: the attempt's own." }),
  env: environment.default({}),
  gang: gangSpec.prefault({}),
  acceleratorTypes: acceleratorTypes
    .default([])
    .meta({ description: "In order of preference; empty: any. A gang never mixes types." }),
  priority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX).default(0),
  walltimeMs: integer(1, limits.DURATION_MS_MAX).nullable().default(null),
  retries: retrySpec.prefault({}),
  graceTimeoutMs: integer(0, limits.GRACE_MS_MAX).default(DEFAULT_GRACE_TIMEOUT_MS),
  checkpointDir: names.absolutePath.nullable().default(null),
  checkpointOnRequest: z
    .literal(true)
    .optional()
    .meta({ description: "It writes a checkpoint when it is asked for one, and reports it." }),
  fabric: fabricSpec.optional(),
  nodeSelector: names.labels.optional().meta({ description: "Only nodes that carry these labels." }),
  spread: z
    .strictObject({ topologyKey: names.labelName, maxPerDomain: integer(1, limits.WORKERS_MAX) })
    .optional()
    .meta({ description: "At most `maxPerDomain` workers on nodes with the same value of the label `topologyKey`." }),
  data: z
    .strictObject({
      inputs: z
        .array(names.dataset)
        .max(limits.DATASETS_MAX)
        .optional()
        .meta({ description: "What it reads; it goes where most of it lies, if it can." }),
      rule: names.dataRule.optional().meta({ description: "It runs only where this rule is admitted." }),
    })
    .optional(),
  preemptible: z
    .boolean()
    .optional()
    .meta({ description: "Whether it may be evicted for others; left out: as the policy says." }),
  minRuntimeMs: integer(0, limits.DURATION_MS_MAX)
    .optional()
    .meta({ description: "Not evicted before it ran this long." }),
  restartCostMs: integer(0, limits.DURATION_MS_MAX)
    .optional()
    .meta({ description: "What starting again takes, beyond the work since its last checkpoint." }),
  onNodeLoss: z.enum(["replace", "restart"]).optional().meta({
    description:
      "What becomes of a gang that runs when one of its nodes is lost. `replace`: the lost workers start in new places and join the others, as far as there is room at once. `restart`, as if left out: the whole gang starts again.",
  }),
  after: z
    .array(
      z.union([
        z.strictObject({ workload: z.string().min(1).max(limits.ID_CHARS_MAX), on: z.enum(["ok", "failed", "any"]) }),
        z.strictObject({
          artifact: names.artifactName,
          workload: z.string().min(1).max(limits.ID_CHARS_MAX).optional(),
        }),
      ]),
    )
    .max(limits.PREDECESSORS_MAX)
    .optional()
    .meta({
      description: "What must have come to an end, and to which, or must have been produced, before it may start.",
    }),
  produces: z
    .array(names.artifactName)
    .min(1)
    .max(limits.ARTIFACTS_MAX)
    .refine((list) => new Set(list).size === list.length, { message: "must not name a thing twice" })
    .optional()
    .meta({ description: "What it reports when it has produced it, for others to wait for." }),
  hold: z.literal(true).optional().meta({ description: "Not started until somebody releases it." }),
  notBeforeMs: integer(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: "Not started before this instant." }),
  deadlineMs: integer(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: "Wanted done by this instant." }),
  startWindow: z
    .strictObject({
      microUsdPerKwhMax: integer(limits.MICRO_USD_PER_KWH_MIN, limits.MICRO_USD_PER_KWH_MAX).optional(),
      gramsPerKwhMax: integer(0, limits.GRAMS_PER_KWH_MAX).optional(),
      cheapestMs: integer(1, limits.DURATION_MS_MAX).optional(),
      cleanestMs: integer(1, limits.DURATION_MS_MAX).optional(),
      latestStartMs: integer(0, Number.MAX_SAFE_INTEGER).optional(),
    })
    .refine(
      ({ microUsdPerKwhMax, gramsPerKwhMax, cheapestMs, cleanestMs }) =>
        [microUsdPerKwhMax, gramsPerKwhMax, cheapestMs, cleanestMs].some((bound) => bound !== undefined),
      { message: "must bound the price or carbon, or ask for the cheapest or cleanest time" },
    )
    .optional()
    .meta({
      description:
        "Started only while tariffs of the calendar say that power is so cheap or clean, or in the so much time of least price (`cheapestMs`) or carbon (`cleanestMs`) until then, or at its latest start, or so that it is expected to be done by its deadline.",
    }),
};

/** Without what is asked of when it must start at the latest, which a schedule may say in another way. */
const specWithoutEnd = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("train"), ...specCommon }).meta({ id: "TrainSpec" }),
    z
      .strictObject({ kind: z.literal("batch"), ...specCommon, taskCount: integer(1, limits.TASKS_MAX) })
      .refine(({ gang }) => gang.minWorkers === undefined, {
        path: ["gang", "minWorkers"],
        message: "must be left out for a batch: its tasks are independent already",
      })
      .meta({ id: "BatchSpec" }),
  ])
  .refine(({ gang, fabric }) => gang.taskGroups === undefined || fabric?.slices === undefined, {
    path: ["fabric", "slices"],
    message: "must be said of a group where the gang has groups",
  })
  .refine(({ gang, onNodeLoss }) => gang.taskGroups === undefined || onNodeLoss !== "replace", {
    path: ["onNodeLoss"],
    message: "must be restart where the gang has groups: their workers are not replaced yet",
  });

export const hasEnd = ({
  startWindow,
  deadlineMs,
}: Pick<z.output<typeof specWithoutEnd>, "startWindow" | "deadlineMs">): boolean =>
  (startWindow?.cheapestMs === undefined && startWindow?.cleanestMs === undefined) ||
  startWindow.latestStartMs !== undefined ||
  deadlineMs !== undefined;
export const needsEnd = {
  path: ["startWindow"],
  message: "must have a latest start or a deadline: the cheapest or cleanest time is that before it",
};

export const workloadSpec = specWithoutEnd.refine(hasEnd, needsEnd).meta({ id: "WorkloadSpec" });

/** What may be submitted: answers tell of work as well that was taken before slices had to be whole. */
export const submittedSpec = specWithoutEnd
  .refine(hasEnd, needsEnd)
  .check(({ value, issues }) => {
    for (const { path, message } of sliceFaultsIn(value))
      issues.push({ code: "custom", input: value, path: [...path], message });
  })
  .meta({ id: "SubmittedSpec" });

/** What a schedule submits: when it must start at the latest it may say in another way. */
export const scheduledSpec = specWithoutEnd.meta({ id: "ScheduledSpec" });

/** As the control plane keeps it: every field is there. */
export type WorkloadSpec = z.output<typeof workloadSpec>;
/** As it may be submitted. */
export type WorkloadSpecInput = z.input<typeof workloadSpec>;
export interface GangSpec {
  workers: number;
  minWorkers?: number | undefined;
  accelerators: number;
  coresMilli: number;
  memoryMib: number;
  shareMilli?: number | undefined;
  profile?: string | undefined;
  throughputMilli?: number[] | undefined;
  taskGroups?: TaskGroup[] | undefined;
  antiAffinity?: z.output<typeof antiAffinitySpec> | undefined;
}
export type TaskGroup = z.output<typeof taskGroup>;
export type WorkloadKind = WorkloadSpec["kind"];
