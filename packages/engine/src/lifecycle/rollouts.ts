/**
 * Rollouts: an endpoint begins to run another revision when its spec changes or an alias of its model moves. This file records
 * the start and the steps; `round/keep-rollouts.ts` keeps the numbers of replicas and ends rollouts.
 */
import {
  canonicalJson,
  declaredSpec,
  parseArtifactRef,
  plainChangesIn,
  revisedSpec,
  revisionChangesIn,
  revisionNumberOf,
} from "@headroom/model";
import type {
  ArtifactName,
  ChangeRefusal,
  Command,
  RevisionChanges,
  Rollout,
  RolloutAction,
  RolloutGround,
  Workload,
  WorkloadChanges,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import { findVersionOf } from "../state/find-artifact.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { resolveAfter } from "./dependencies.ts";

/** Time that a replica may take to be placed and stopped, beside its time to become ready. */
const REPLACEMENT_MS = 60_000;

/** The reason why the endpoint cannot begin this rollout now, or `null`. */
export function rolloutRefusal(workload: Workload, changes: WorkloadChanges): ChangeRefusal | null {
  const { spec, rollout } = workload;
  if (spec.kind !== "serve") {
    const field = (["run", "dir", "ready", "servedModel", "rollout"] as const).find(
      (each) => changes[each] !== undefined,
    );
    return field === undefined ? null : { field, cause: "otherKind" };
  }
  const revision = revisionChangesIn(declaredSpec(workload), changes);
  if (revision === null || rollout === undefined || isWayBack(workload, revision)) return null;
  return { field: Object.keys(revision)[0] as ChangeRefusal["field"], cause: "rollingOut" };
}

/** Whether the changes undo those of the rollout in progress. */
function isWayBack(workload: Workload, revision: RevisionChanges): boolean {
  if (workload.rollout === undefined || workload.rollout.isReversed === true) return false;
  const wanted = revisedSpec(declaredSpec(workload), revision);
  return canonicalJson(wanted) === canonicalJson(workload.spec);
}

/** Starts a rollout for changes that make a revision, or turns one back. Returns the changes that are left. */
export function recordRevision(
  batch: Batch,
  workload: Workload,
  { changes, actor }: { readonly changes: WorkloadChanges; readonly actor: string },
): WorkloadChanges {
  const revision = revisionChangesIn(declaredSpec(workload), changes);
  if (revision === null) return changes;
  if (isWayBack(workload, revision)) rollBack(batch, workload, { actor, ground: { kind: "requested" } });
  else startRollout(batch, workload, { changes: revision, actor, cause: "changed" }, changes.rollout);
  return plainChangesIn(workload.spec, changes);
}

function startRollout(
  batch: Batch,
  workload: Workload,
  { changes, actor, cause }: Pick<Rollout, "changes" | "actor" | "cause">,
  changedSteps?: WorkloadChanges["rollout"],
): void {
  const { world, nowMs: atMs } = batch;
  const spec = revisedSpec(workload.spec, changes);
  if (spec.kind !== "serve") return;
  const resolved = resolveAfter(world, spec);
  const given = resolved.kind === "resolved" ? resolved.given : [];
  const replicas = workload.scale?.replicas ?? 0;
  const changed = changedSteps === undefined ? spec.rollout : (changedSteps ?? undefined);
  // Without replicas there is nothing to compare.
  const rules = replicas === 0 ? undefined : changed;
  const replacementMs = (replicas + 1) * (spec.ready.timeoutMs + REPLACEMENT_MS);
  const shadow = rules?.shadow;
  batch.emit({
    kind: "rolloutStarted",
    version: 2,
    atMs,
    workloadId: workload.id,
    actor,
    number: nextRevisionNumber(world, workload),
    changes,
    ...(given.length === 0 ? {} : { given }),
    cause,
    deadlineAtMs: atMs + (rules === undefined ? replacementMs : rules.timeoutMs),
    ...(rules === undefined ? {} : { steps: shadow === undefined ? rules.steps : [0, ...rules.steps] }),
    ...(shadow === undefined ? {} : { shadow }),
  });
}

/** Replicas of a revision that was rolled back may not have stopped: another revision must not count them as its own. */
function nextRevisionNumber({ state }: World, workload: Workload): number {
  let last = revisionNumberOf(workload);
  for (const id of workload.activeAttempts) last = Math.max(last, revisionNumberOf(state.attempts.get(id) ?? {}));
  return last + 1;
}

/**
 * Starts rollouts of endpoints that serve this alias, which now names another version. Other aliases of the artifact start
 * none: a version that was rolled back would come again with each of them.
 */
export function followAlias(
  batch: Batch,
  name: ArtifactName,
  { alias, actor }: { readonly alias: string; readonly actor: string },
): void {
  const { world } = batch;
  for (const id of world.endpoints) {
    const workload = world.state.workloads.get(id);
    if (workload !== undefined && serves(workload, name, alias)) startFromAlias(batch, workload, actor);
  }
}

/** Starts a rollout if the alias that the endpoint serves names another version than its replicas have. */
export function startFromAlias(batch: Batch, workload: Workload, actor: string): void {
  const { spec, given = [], rollout, stopRequested } = workload;
  if (spec.kind !== "serve" || spec.servedModel === undefined || rollout !== undefined || stopRequested) return;
  const version = findVersionOf(batch.world.state, spec.team, spec.servedModel);
  if (version === null || given.some((each) => each.version === version.id)) return;
  // A rollout that waits for an artifact to be made has no version to move from.
  if (workload.waitsFor !== undefined) return;
  startRollout(batch, workload, { changes: {}, actor, cause: "alias" });
}

function serves({ spec }: Workload, name: ArtifactName, alias: string): boolean {
  const ref = spec.kind === "serve" && spec.servedModel !== undefined ? parseArtifactRef(spec.servedModel) : null;
  if (ref?.at?.kind !== "alias" || ref.at.alias !== alias) return false;
  return ref.kind === name.kind && ref.name === name.name && (ref.team ?? spec.team) === name.team;
}

export function steerRollout(batch: Batch, command: Command & { readonly kind: "steerRollout" }): Decision {
  const { workloadId, number, step, action, ground, actor } = command;
  const workload = batch.world.state.workloads.get(workloadId);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId });
  const { rollout } = workload;
  const steered = (isChange: boolean): Decision =>
    done({ kind: "workloadChanged", workloadId, fields: isChange ? ["rollout"] : [] });
  if (rollout === undefined) return number === null ? refused({ code: "noRollout", workloadId }) : steered(false);
  const isMeant = (number ?? rollout.number) === rollout.number && (step ?? rollout.step) === rollout.step;
  if (!isMeant || !changes(rollout, action)) return steered(false);
  if (action === "rollBack") rollBack(batch, workload, { actor, ground });
  else steer(batch, workload, { actor, action, ground });
  return steered(true);
}

/** Whether the action changes anything. A rollout that turned back goes on without steps. */
function changes(rollout: Rollout, action: RolloutAction): boolean {
  if (rollout.isReversed === true) return action === "squeeze" && rollout.isSqueezed !== true;
  switch (action) {
    case "advance":
    case "promote":
      return rollout.isFinal !== true;
    case "pause":
      return rollout.isPaused !== true;
    case "resume":
      return rollout.isPaused === true;
    case "squeeze":
      return rollout.isSqueezed !== true;
    case "rollBack":
      return true;
  }
}

interface Steered {
  readonly actor: string;
  readonly ground: RolloutGround;
}

function steer(
  batch: Batch,
  { id: workloadId }: Workload,
  { actor, action, ground }: Steered & { readonly action: RolloutAction },
): void {
  batch.emit({ kind: "rolloutSteered", version: 1, atMs: batch.nowMs, workloadId, actor, action, ground });
}

/** With all present replicas there, the weight moves at once; replaced replicas are replaced back. */
function rollBack(batch: Batch, workload: Workload, { actor, ground }: Steered): void {
  const { rollout, scale } = workload;
  if (rollout !== undefined && rollout.steps === undefined && rollout.stable < (scale?.replicas ?? 0))
    steer(batch, workload, { actor, action: "rollBack", ground });
  else endRollout(batch, workload, { actor, outcome: "rolledBack", ground });
}

export function endRollout(
  batch: Batch,
  { id: workloadId }: Workload,
  { actor, outcome, ground }: Steered & { readonly outcome: "completed" | "rolledBack" },
): void {
  batch.emit({ kind: "rolloutEnded", version: 1, atMs: batch.nowMs, workloadId, actor, outcome, ground });
}
