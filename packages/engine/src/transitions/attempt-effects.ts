/**
 * Builds the effects that start, resize, checkpoint and stop attempts. They are built when a decision is made, and once
 * more after a restart.
 */
import { checkpointTimeoutOf, InvariantError, revisionOf, storedCheckpoints } from "@headroom/model";
import type {
  CheckpointGang,
  Effect,
  GrowGang,
  LaunchGang,
  ReplaceWorkers,
  ShrinkGang,
  StopGang,
  ExecutorId,
  Attempt,
  LaunchArtifact,
  ProducedArtifact,
  StopReason,
  WorkerAllocation,
  WorkloadSpec,
} from "@headroom/model";
import { executorOf as executorOfAttempt } from "../state/executors.ts";
import { byPlacement, workloadOf } from "../cluster/entities.ts";
import { nearestFirst, siteOf, storeOf } from "../cluster/transfers.ts";
import type { World } from "../cluster/world.ts";
import { Slot } from "../cluster/scratch.ts";
import { checkpointIntervalOn, distinctNodes, nodeFailures } from "../usage/checkpoint-interval.ts";
import type { NodeFailures } from "../usage/checkpoint-interval.ts";
import { canResize } from "../cluster/holdings.ts";

export function launchOf(world: World, attempt: Attempt): LaunchGang {
  const workload = workloadOf(world, attempt.workloadId);
  const { spec, given } = revisionOf(workload, attempt);
  const everyMs = checkpointEveryMs(world, spec, attempt.workers);
  // Built without spreads if possible, because this is the most frequent effect.
  const launch = {
    kind: "launchGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workloadId: attempt.workloadId,
    task: attempt.task,
    number: attempt.number,
    actor: workload.actor,
    spec,
    workers: attempt.workers,
    sequence: attempt.placedSequence,
  } as const;
  const resume = spec.checkpointStore === undefined ? undefined : resumeOf(world, attempt);
  if (given === undefined && everyMs === undefined && resume === undefined) return launch;
  return {
    ...launch,
    ...(resume === undefined ? {} : { resume }),
    ...(given === undefined ? {} : { artifacts: given.map((each) => withContent(world, each, attempt)) }),
    ...(everyMs === undefined ? {} : { checkpointEveryMs: everyMs }),
  };
}

/** Only checkpoints whose bytes were read back from the store, with their digest, are offered besides the reported one. */
function resumeOf(world: World, { workloadId }: Attempt): LaunchGang["resume"] {
  const { checkpoint, spec } = workloadOf(world, workloadId);
  const version = storedCheckpoints(world.state, spec, workloadId).at(-1);
  const { digest = null, rule, producer, bytes, parameters } = version ?? {};
  const place = version?.places.find((each) => each.state === "verified");
  if (checkpoint === null && version === undefined) return undefined;
  return {
    ...(checkpoint === null ? {} : { reported: { step: checkpoint.step, path: checkpoint.path } }),
    ...(version === undefined || digest === null || place === undefined
      ? {}
      : {
          stored: {
            version: version.id,
            step: producer?.step ?? 0,
            uri: place.uri,
            digest,
            ...(rule === undefined ? {} : { rule }),
            bytes: bytes ?? 0,
            path: parameters?.["path"] ?? "",
          },
        }),
  };
}

function withContent(world: World, artifact: ProducedArtifact, { workers }: Attempt): LaunchArtifact {
  const { state } = world;
  const version = artifact.version === undefined ? undefined : state.artifactVersions.get(artifact.version);
  if (version === undefined) return artifact;
  const { digest, rule, bytes } = version;
  const places = version.places.filter(({ state: at }) => at !== "missing").map(({ uri }) => uri);
  const others = places.filter((uri) => uri !== artifact.path);
  const stored = places.filter((uri) => storeOf(world, uri) !== null);
  const nearest = nearestFirst(world, stored, { bytes, site: siteOf(world, workers[0]?.node) });
  return {
    ...artifact,
    ...(digest === null ? {} : { digest }),
    ...(rule === undefined ? {} : { rule }),
    ...(others.length === 0 ? {} : { places: others }),
    ...(nearest.length < 2 ? {} : { nearest }),
  };
}

export function stopOf(world: World, attempt: Attempt, reason: StopReason): StopGang {
  return {
    kind: "stopGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    graceTimeoutMs: workloadOf(world, attempt.workloadId).spec.graceTimeoutMs,
    reason,
  };
}

export function checkpointOf(world: World, attempt: Attempt, untilMs: number): CheckpointGang {
  return { kind: "checkpointGang", executor: executorOf(world, attempt), attemptId: attempt.id, untilMs };
}

export function growthOf(world: World, attempt: Attempt, workers: readonly WorkerAllocation[]): GrowGang {
  return {
    kind: "growGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workloadId: attempt.workloadId,
    firstRank: attempt.workers.length - workers.length,
    workers,
    launch: launchOf(world, attempt),
  };
}

export function replaceOf(world: World, attempt: Attempt, ranks: readonly number[]): ReplaceWorkers {
  return {
    kind: "replaceWorkers",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workloadId: attempt.workloadId,
    workers: ranks.map((rank) => ({ rank, worker: attempt.workers[rank] as WorkerAllocation })),
  };
}

export function shrinkOf(world: World, attempt: Attempt): ShrinkGang {
  const { spec } = workloadOf(world, attempt.workloadId);
  const checkpointTimeoutMs = attempt.startedAtMs === null ? 0 : checkpointTimeoutOf(world.rules, spec);
  return {
    kind: "shrinkGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workers: attempt.workers.length,
    graceTimeoutMs: spec.graceTimeoutMs,
    ...(checkpointTimeoutMs > 0 ? { checkpointTimeoutMs } : {}),
  };
}

function executorOf({ state }: World, attempt: Attempt): ExecutorId {
  const executor = executorOfAttempt(state, attempt);
  if (executor === null) throw new InvariantError(`attempt ${attempt.id} runs in no pool`);
  return executor;
}

/** Failures of nodes, counted once for each instant, even if many gangs start at that instant. */
const scanned = new Slot<{ readonly atMs: number; readonly failures: NodeFailures } | null>(() => null, {
  survivesUndo: false,
});

/**
 * The interval between checkpoints, in ms, that the workers of an attempt are given at their start. It is `undefined`
 * if the workload states no interval.
 */
function checkpointEveryMs(
  { state, scratch }: World,
  spec: WorkloadSpec,
  workers: readonly WorkerAllocation[],
): number | undefined {
  if (spec.checkpointEvery !== "auto") return spec.checkpointEvery;
  let known = scratch.get(scanned);
  if (known?.atMs !== state.nowMs) {
    known = { atMs: state.nowMs, failures: nodeFailures(state) };
    scratch.set(scanned, known);
  }
  return checkpointIntervalOn(known.failures, spec, distinctNodes(workers)).everyMs;
}

/**
 * The effects that a crash may have lost. Executors ignore a repeated effect for the same attempt, so it is always safe
 * to send one again.
 */
export const outstandingEffects = (world: World): readonly Effect[] =>
  [...world.state.attempts.values()].toSorted(byPlacement).flatMap((attempt) => effectsOf(world, attempt));

function effectsOf(world: World, attempt: Attempt): Effect[] {
  const effects: Effect[] = [];
  if (attempt.launchAtMs !== undefined) return effects;
  const { stop } = attempt;
  // An attempt that a later batch stops need not be launched for it.
  const isAboutToStop = stop === null && world.stopping.has(attempt.workloadId);
  if (attempt.startedAtMs === null && !isAboutToStop) effects.push(launchOf(world, attempt));
  if (stop === null && mayHaveGrown(world, attempt)) effects.push(growthOf(world, attempt, attempt.workers));
  if (stop?.checkpointUntilMs !== undefined) effects.push(checkpointOf(world, attempt, stop.checkpointUntilMs));
  else if (stop !== null) effects.push(stopOf(world, attempt, stop.reason));
  else if (attempt.joining !== undefined) effects.push(replaceOf(world, attempt, attempt.joining));
  if (stop === null && attempt.terminating !== undefined) effects.push(shrinkOf(world, attempt));
  return effects;
}

/**
 * Returns whether the growth of the gang must be sent again after a crash. Executors report that an attempt runs, but
 * not with how many workers, so all workers of a gang that can grow are sent again.
 */
const mayHaveGrown = (world: World, attempt: Attempt): boolean =>
  workloadOf(world, attempt.workloadId).spec.gang.minWorkers !== undefined && canResize(world.state, attempt);
