/**
 * What must hold after every batch, whatever happened (DESIGN §7): checked by counting again from the state, without the
 * code that decided it. Tests of every kind call this, and so does the fault simulator after each of its rounds.
 */
import { clockOf, worldOf } from "../engine.ts";
import { explain } from "../explain/explain.ts";
import type { Workload } from "../model/workload.ts";
import type { Engine, Ready } from "../ready.ts";
import { waitingTaskCount } from "../state/ready-task.ts";
import type { World } from "../state/world.ts";
import type { BlockedReason } from "../verdicts.ts";
import { Findings } from "./findings.ts";
import { checkIndexes } from "./index-checks.ts";
import { compareByPolicy, feasibility, hasReadyTask, heldByTeam, isUsable, keepsLimits } from "./recount.ts";
import type { Feasibility } from "./recount.ts";
import { checkState } from "./state-checks.ts";

/** Every invariant that the engine breaks as of its last batch, one sentence each; empty when all hold. */
export function checkInvariants(engine: Engine): string[] {
  const findings = new Findings();
  const world = worldOf(engine);
  const nowMs = clockOf(engine);
  checkState(findings, world.state, nowMs);
  checkIndexes(findings, world, nowMs);
  const fits = feasibility(world.state);
  checkRest(findings, { world, fits, nowMs });
  checkVerdicts(findings, engine, { world, fits, nowMs });
  return findings.list;
}

/**
 * What only the events of the engine's last batch can show: nothing was placed on a node that takes no work, past a limit or
 * ahead of a head that blocks, and executors were asked for exactly what was decided.
 */
export function checkLastBatch(engine: Engine, { events, effects }: Pick<Ready, "events" | "effects">): string[] {
  const findings = new Findings();
  const { state } = engine;
  const held = heldByTeam(state);
  const head = blockingHead({ world: worldOf(engine), fits: feasibility(state), nowMs: clockOf(engine) });
  const decided: string[] = [];
  for (const event of events) {
    if (event.kind === "attemptStopRequested") decided.push(`stop ${event.attemptId} ${event.reason}`);
    if (event.kind !== "gangPlaced") continue;
    const { attemptId, acceleratorType: type } = event;
    decided.push(`launch ${attemptId} ${JSON.stringify(event.workers)}`);
    for (const { node: id } of event.workers) {
      const node = state.nodes.get(id);
      findings.expect(
        node !== undefined && isUsable(node),
        () => `${attemptId} was placed on ${id}, which takes no work`,
      );
    }
    const placed = state.workloads.get(event.workloadId);
    if (placed === undefined) continue;
    const { team, gang } = placed.spec;
    // Placing is the last thing in a batch, so what is held now is what its last placement led to.
    const isKept = gang.accelerators === 0 || keepsLimits(state, held, { team, type, count: 0 });
    findings.expect(isKept, () => `${attemptId} took ${team} or a team above it past its limit of ${type}`);
    findings.expect(
      head === null || placed.id === head.id || compareByPolicy(state.policy, placed, head) < 0,
      () => `${attemptId} was started ahead of ${head?.id}, which the policy puts first`,
    );
  }
  const asked = effects.map((effect) =>
    effect.kind === "launchGang"
      ? `launch ${effect.attemptId} ${JSON.stringify(effect.workers)}`
      : `stop ${effect.attemptId} ${effect.reason}`,
  );
  findings.expect(
    decided.toSorted().join("\n") === asked.toSorted().join("\n"),
    () => `decided: ${decided.join("; ")}; asked of executors: ${asked.join("; ")}`,
  );
  return findings.list;
}

interface Rest {
  readonly world: World;
  readonly fits: Feasibility;
  readonly nowMs: number;
}

/** The first of the queue, under a policy whose head blocks. Who is held by a limit or by a fleet too small waits aside. */
function blockingHead({ world: { state }, fits, nowMs }: Rest): Workload | null {
  if (state.policy.whenHeadBlocked !== "stop") return null;
  let head: Workload | null = null;
  for (const workload of state.workloads.values()) {
    if (!hasReadyTask(workload, nowMs) || !fits.mayBlock(workload.spec)) continue;
    if (head === null || compareByPolicy(state.policy, workload, head) < 0) head = workload;
  }
  return head;
}

/** After a round nothing that the policy would start now waits (DESIGN §7.11, for policies without reservations). */
function checkRest(findings: Findings, rest: Rest): void {
  const { world, fits, nowMs } = rest;
  const head = blockingHead(rest);
  for (const workload of world.state.workloads.values()) {
    if (world.state.policy.whenHeadBlocked === "stop" ? workload !== head : !hasReadyTask(workload, nowMs)) continue;
    findings.expect(!fits.couldNow(workload.spec), () => `${workload.id} waits although it fits`);
  }
}

/** Everything that waits has a verdict whose numbers say what the verdict claims. */
function checkVerdicts(findings: Findings, engine: Engine, rest: Rest): void {
  const { fits, nowMs } = rest;
  const head = blockingHead(rest);
  for (const workload of engine.state.workloads.values()) {
    const { id } = workload;
    const verdict = explain(engine, id);
    const waits = workload.endedAtMs === null && waitingTaskCount(workload) > 0;
    const expected = waits ? "blocked" : "notWaiting";
    findings.expect(
      verdict.kind === expected,
      () => `the verdict on ${id} is ${verdict.kind}, it should be ${expected}`,
    );
    if (verdict.kind !== "blocked" || !waits) continue;
    findings.expect(verdict.reasons.length > 0, () => `${id} is blocked without a reason`);
    for (const reason of verdict.reasons) {
      findings.expect(
        isTrue(reason, { workload, fits, nowMs, head }),
        () => `${id} is said to be blocked by ${JSON.stringify(reason)}, which is not so`,
      );
    }
  }
}

interface Claim {
  readonly workload: Workload;
  readonly fits: Feasibility;
  readonly nowMs: number;
  readonly head: Workload | null;
}

function isTrue(reason: BlockedReason, { workload, fits, nowMs, head }: Claim): boolean {
  switch (reason.kind) {
    case "exceedsFleet":
      return !fits.couldEver(workload.spec) && reason.placeableWorkers < reason.workers;
    case "acceleratorShortfall":
      return reason.freeCount < reason.neededCount && reason.freeCount <= reason.fleetCount;
    case "workerShortfall":
      return reason.placeableWorkers < reason.workers;
    case "teamLimit":
      return reason.usedCount + reason.neededCount > reason.limitCount;
    case "behindHead":
      return reason.headWorkloadId === head?.id && head !== workload && reason.aheadCount > 0;
    case "backoff":
      return reason.untilMs > nowMs && !hasReadyTask(workload, nowMs);
  }
}
