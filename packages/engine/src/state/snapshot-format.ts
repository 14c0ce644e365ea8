/**
 * The number of the snapshot format that a state needs: that of the newest feature in it. An earlier release refuses a
 * newer number, and reads a state without newer features, so that an upgrade can be undone until they are used.
 */
import { isAliasKind, isLaterProposalKind, isPlanningProposalKind, isRemediationKind } from "@headroom/model";
import type { PipelineSpec, ProposalKind } from "@headroom/model";
import type { State } from "./mutable-state.ts";

interface SnapshotFeature {
  readonly format: number;
  readonly isIn: (state: State) => boolean;
}

/** Newest first. A change of the stored form is a further row with the next number. */
const features: readonly SnapshotFeature[] = [
  // Executors that list the secrets which work may name.
  {
    format: 37,
    isIn: ({ executors }) => some(executors, ({ capabilities }) => capabilities.secretRules !== undefined),
  },
  // Rollouts with copied requests.
  {
    format: 36,
    isIn: ({ workloads }) =>
      some(
        workloads,
        ({ spec, rollout }) =>
          rollout?.shadow !== undefined || (spec.kind === "serve" && spec.rollout?.shadow !== undefined),
      ),
  },
  // Gates of aliases, and proposals to move them.
  {
    format: 35,
    isIn: (state) => hasProposals(state, isAliasKind) || some(state.artifacts, ({ gates }) => gates !== undefined),
  },
  // Work that names secrets of its cluster.
  { format: 34, isIn: ({ workloads }) => some(workloads, ({ spec }) => spec.secrets !== undefined) },
  // Endpoints whose accelerator types have an order of their own.
  {
    format: 33,
    isIn: ({ workloads }) => some(workloads, ({ scale }) => scale?.acceleratorTypes !== undefined),
  },
  // Caps on power and cooling, and the draw of pools.
  {
    format: 32,
    isIn: ({ sites, pools }) =>
      some(sites, ({ caps }) => caps !== undefined) || some(pools, ({ power }) => power !== undefined),
  },
  // Budgets of endpoints, and changes with such a ground.
  {
    format: 31,
    isIn: ({ workloads }) =>
      some(
        workloads,
        ({ account, scale }) =>
          account !== undefined || scale?.ground.kind === "budgetSpent" || scale?.ground.kind === "budgetRenewed",
      ),
  },
  // Pools that list the kinds of workload that they take.
  { format: 30, isIn: ({ pools }) => some(pools, ({ kinds }) => kinds !== undefined) },
  // Imported past work.
  { format: 29, isIn: ({ importedHistories }) => importedHistories.size > 0 },
  // Endpoints that follow values of metric sources.
  { format: 28, isIn: followsMetrics },
  // Declared stores, and times that transfers are expected to take.
  {
    format: 27,
    isIn: ({ stores, attempts }) => stores.size > 0 || some(attempts, ({ stagingMs }) => stagingMs !== undefined),
  },
  // Rules of qualification of pools, and nodes that have to qualify.
  { format: 26, isIn: ({ pools, nodes }) => some(pools, isQualified) || some(nodes, isQualified) },
  { format: 25, isIn: (state) => hasProposals(state, isRemediationKind) },
  // Inputs in caches of nodes.
  { format: 24, isIn: ({ nodes }) => some(nodes, ({ cachedInputs }) => cachedInputs !== undefined) },
  // Proposals of capacity orders and advice.
  { format: 23, isIn: (state) => hasProposals(state, isPlanningProposalKind) },
  { format: 22, isIn: (state) => hasTrigger(state, "metric") },
  { format: 21, isIn: ({ workloads }) => some(workloads, ({ spec }) => spec.image !== undefined) },
  { format: 20, isIn: (state) => hasTrigger(state, "file") },
  // Proposals to resume, restart, or change spares or requests.
  {
    format: 19,
    isIn: (state) =>
      hasProposals(state, isLaterProposalKind) || some(state.attempts, ({ stop }) => stop?.reason === "restarted"),
  },
  {
    format: 18,
    isIn: ({ workloads }) => some(workloads, ({ spec }) => spec.kind === "serve" && spec.overflow !== undefined),
  },
  // Orders with an id of their own for their provisioner, or that failed in part.
  {
    format: 17,
    isIn: ({ capacityOrders }) =>
      some(
        capacityOrders,
        ({ automatic }) => automatic?.requestId !== undefined || automatic?.missingCount !== undefined,
      ),
  },
  { format: 16, isIn: hasNewerPipelines },
  { format: 15, isIn: hasRollouts },
  { format: 14, isIn: ({ burstAccounts }) => burstAccounts.size > 0 },
  { format: 13, isIn: ({ pipelines, pipelineRunCount }) => pipelines.size + pipelineRunCount > 0 },
  // Endpoints with targets, and changes with a ground that an older release cannot show.
  {
    format: 12,
    isIn: ({ workloads }) =>
      some(
        workloads,
        ({ spec, scale }) => scale?.ground.kind === "load" || (spec.kind === "serve" && spec.scale !== undefined),
      ),
  },
  { format: 11, isIn: ({ artifacts }) => artifacts.size > 0 },
  { format: 10, isIn: ({ proposals, proposalRules }) => proposals.size + proposalRules.size > 0 },
  { format: 9, isIn: ({ nodes }) => some(nodes, ({ foreignUse }) => foreignUse !== undefined) },
  // Endpoints.
  { format: 8, isIn: ({ workloads }) => some(workloads, ({ scale }) => scale !== undefined) },
  // Executors that were declared or silent.
  { format: 7, isIn: ({ executorStates }) => executorStates.size > 0 },
  { format: 6, isIn: ({ capacityOrders }) => capacityOrders.size > 0 },
  { format: 5, isIn: hasRemovals },
];

/** The format of a state without any of the features. */
const FORMAT_OLDEST = 4;

/** The newest format. A reader refuses newer ones. */
export const SNAPSHOT_FORMAT: number = features[0]?.format ?? FORMAT_OLDEST;

/** Whether this format is read as it is. Formats before `FORMAT_OLDEST` are changed first (`upcast.ts`). */
export const isReadableFormat = (format: number): boolean => format >= FORMAT_OLDEST && format <= SNAPSHOT_FORMAT;

export const formatOf = (state: State): number => features.find(({ isIn }) => isIn(state))?.format ?? FORMAT_OLDEST;

function some<Entity>(table: ReadonlyMap<unknown, Entity>, isWanted: (entity: Entity) => boolean): boolean {
  for (const entity of table.values()) if (isWanted(entity)) return true;
  return false;
}

const isQualified = ({ qualification }: { readonly qualification?: unknown }): boolean => qualification !== undefined;

function hasProposals({ proposals, proposalRules }: State, isWanted: (kind: ProposalKind) => boolean): boolean {
  for (const kind of proposalRules.keys()) if (isWanted(kind)) return true;
  return some(proposals, ({ change }) => isWanted(change.kind));
}

function hasTrigger({ pipelines, pipelineRuns }: State, wanted: "file" | "metric"): boolean {
  const isNewer = ({ triggers = [] }: PipelineSpec): boolean => triggers.some(({ kind }) => kind === wanted);
  return (
    some(pipelines, ({ pipeline }) => isNewer(pipeline)) ||
    some(pipelineRuns, ({ pipeline, trigger }) => isNewer(pipeline) || trigger.kind === wanted)
  );
}

/** Whether a pipeline has a trigger, or a step, that an older release would take for another one. */
function hasNewerPipelines({ pipelines, pipelineRuns }: State): boolean {
  const isNewer = ({ triggers = [], steps }: PipelineSpec): boolean =>
    triggers.some(({ kind }) => kind === "artifact" || kind === "alias") ||
    steps.some(({ setAlias }) => setAlias !== undefined);
  return (
    some(pipelines, ({ pipeline }) => isNewer(pipeline)) ||
    some(
      pipelineRuns,
      ({ pipeline, trigger }) => isNewer(pipeline) || (trigger.kind === "webhook" && trigger.key !== undefined),
    )
  );
}

function followsMetrics({ workloads }: State): boolean {
  return some(
    workloads,
    ({ spec, scale }) =>
      (scale?.ground.kind === "load" && scale.ground.metric !== undefined) ||
      (spec.kind === "serve" && spec.scale?.metrics !== undefined),
  );
}

/** Whether an endpoint ever changed its revision. */
function hasRollouts({ workloads }: State): boolean {
  return some(
    workloads,
    ({ spec, rollout, revisionNumber }) =>
      rollout !== undefined || revisionNumber !== undefined || (spec.kind === "serve" && spec.rollout !== undefined),
  );
}

/** Whether a node was ever removed, or anything is leaving. */
function hasRemovals({ nodes, joinedNodeCount, poolRemovals, siteRemovals }: State): boolean {
  return (
    joinedNodeCount !== nodes.size ||
    poolRemovals.size + siteRemovals.size > 0 ||
    some(nodes, ({ removal }) => removal !== undefined)
  );
}
