/**
 * Stage 6, second half: records a verified plan and its grounds, stops the victims, and places or nominates the
 * preemptor.
 */
import type { PlannedVictim, RecordedTeamShare, AttemptId, EvictionReason, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { shrinkOf } from "../transitions/attempt-effects.ts";
import { requestStop } from "../transitions/stop-attempt.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { activeAttempt, workloadOf } from "../cluster/entities.ts";
import { isIdle } from "../cluster/ledger.ts";
import { readyTask } from "../state/ready-task.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { negative } from "../cluster/team-node.ts";
import type { Amount } from "../cluster/team-node.ts";
import { amountCompared } from "../cluster/request.ts";
import { dominantShare, teamSharesOf } from "../ordering/team-share.ts";
import type { TeamShare } from "../ordering/team-share.ts";
import { respectsAntiAffinity } from "../placement/filters/anti-affinity.ts";
import { withdraw } from "../transitions/nominations.ts";
import { nominate, nominateMigration, start } from "../transitions/start.ts";
import type { Migration, Plan, Victim } from "./plan.ts";

export function carryOut(batch: Batch, plan: Plan, reason: EvictionReason): void {
  const { world, nowMs: atMs } = batch;
  const preemptor = plan.preemptor.waiting.first() as Workload;
  if (plan.victims.length > 0) {
    batch.emit({
      kind: "evictionPlanned",
      version: 3,
      atMs,
      workloadId: preemptor.id,
      task: readyTask(preemptor, atMs) ?? 0,
      reason,
      victims: recordVictims(batch, plan.victims),
      preemptor: recordPreemptor(batch, plan.preemptor),
    });
  }
  for (const given of plan.withdrawn ?? []) withdraw(batch, given, `the place is needed by ${preemptor.id}`);
  for (const victim of plan.victims) {
    const { attempt, keeps } = victim;
    if (keeps === 0) {
      requestStop(batch, attempt, reasonFor(victim, reason));
      continue;
    }
    batch.emit({ kind: "gangShrinkRequested", version: 2, atMs, attemptId: attempt.id, workers: keeps, reason });
    // An attempt in back-off has no running workers, so its workers are released at once.
    if (attempt.launchAtMs === undefined) batch.ask(shrinkOf(world, activeAttempt(world, attempt.id) ?? attempt));
    else batch.emit({ kind: "workersLeft", version: 1, atMs, attemptId: attempt.id });
  }
  for (const { id: attemptId } of plan.relabelled ?? [])
    batch.emit({ kind: "opportunisticJobRelabelled", version: 1, atMs, attemptId, workloadId: preemptor.id });
  // Whether the place is idle is checked after the victims were stopped, because until then their accelerators are in
  // use. If nominations are not kept, the preemptor requests the place again in the next round.
  const areKept = world.rules.eviction.nominations === "kept";
  if (areKept && isIdleNow(batch, plan)) start(batch, plan.preemptor, plan.placement);
  else nominate(batch, plan.preemptor, plan.placement);
  const beyond = nominateMigrations(batch, plan.migrations ?? []);
  if (areKept) return;
  // If nominations are not kept, destinations of migrating work are reserved only until the round ends; in the next
  // round migrating work is placed like any request.
  for (const { bucket, placement } of beyond) batch.ledger.occupy(bucket.request, placement);
}

/**
 * Nominates migrating work for its new place. Each attempt gets one nomination: an evicted gang for all its workers, a
 * shrunk gang for the first of its migrating workers, and work whose nomination was withdrawn for its new place.
 * Returns the migrations without a nomination: those workers request capacity again when their gang has grown.
 */
function nominateMigrations(batch: Batch, migrations: readonly Migration[]): readonly Migration[] {
  const { state } = batch.world;
  const kept = new Set<AttemptId>();
  const beyond: Migration[] = [];
  for (const migration of migrations) {
    const { attempt, bucket, placement } = migration;
    const running = state.attempts.get(attempt.id);
    const leavesWhole = running !== undefined && running.stop !== null;
    const isBeyond =
      kept.has(attempt.id) ||
      leavesWhole !== (running !== undefined && bucket.request.grows === null) ||
      (running === undefined && readyTask(bucket.waiting.first() as Workload, batch.nowMs) === null);
    if (isBeyond) {
      beyond.push(migration);
      continue;
    }
    kept.add(attempt.id);
    if (leavesWhole) nominateMigration(batch, attempt, placement);
    else nominate(batch, bucket, placement);
  }
  return beyond;
}

function reasonFor({ migrating = 0, ground }: Victim, reason: EvictionReason): EvictionReason {
  if (migrating > 0) return "migrated";
  if (ground === "withinTeam") return "preempted";
  return ground === "reclaimGuarantee" ? "reclaimed" : reason;
}

/** Returns whether the preemptor's place is idle already, because some plans free quota instead of capacity. */
export function isIdleNow({ world }: Batch, { preemptor, placement }: Plan): boolean {
  const { gang } = preemptor.request;
  // Work on another node that conflicts with the preemptor by anti-affinity may have to end first.
  if (!respectsAntiAffinity(world, preemptor.request, placement.workers, "idle")) return false;
  world.capacity.nomination(gang, placement.workers, 1);
  const idle = isIdle(world, placement.workers);
  world.capacity.nomination(gang, placement.workers, -1);
  return idle;
}

/** The dominant share of the preemptor's team, without and with the placement. */
function recordPreemptor({ world }: Batch, bucket: QueueBucket): RecordedTeamShare {
  const teamShare = teamSharesOf(world).get(world.teamUse.node(bucket.request.team)) as TeamShare;
  const share = (more: Amount | null): number => Math.round(dominantShare(teamShare, more) * 1000);
  return {
    team: bucket.request.team,
    shareBeforeMilli: share(null),
    shareAfterMilli: share(amountCompared(world, bucket.request)),
  };
}

/** The dominant shares of the victims' teams before and after the plan, in thousandths of their entitlements. */
export function recordVictims({ world }: Batch, victims: readonly Victim[]): PlannedVictim[] {
  const teamShares = teamSharesOf(world);
  return victims.map(({ attempt, keeps, ground, migrating = 0 }) => {
    const { spec } = workloadOf(world, attempt.workloadId);
    const node = world.teamUse.node(spec.team);
    const workers = attempt.workers.slice(keeps + migrating);
    const lost = negative(amountHeld(world, spec.gang, { ...attempt, workers }));
    const teamShare = teamShares.get(node) as TeamShare;
    return {
      attemptId: attempt.id,
      keeps,
      team: spec.team,
      teamShareBeforeMilli: Math.round(dominantShare(teamShare, null) * 1000),
      teamShareAfterMilli: Math.round(dominantShare(teamShare, lost) * 1000),
      ...(ground === undefined ? {} : { ground }),
      ...(workers.length === 0 ? { migrates: true as const } : {}),
    };
  });
}
