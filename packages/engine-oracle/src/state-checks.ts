/** Invariants of the state alone, without indexes: allocations, gangs, phases, and that no work is lost. */
import { ANSWERS_KEPT, DEFAULT_TEAM, ENDED_WORKLOADS_KEPT } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import {
  ENDED_ATTEMPTS_KEPT,
  acceleratorCount,
  acceleratorIndices,
  shapeOf,
  isWaiting,
  begunTaskCount,
  taskCountOf,
  taskOf,
} from "@headroom/model";
import type { Attempt, Workload, Task } from "@headroom/model";
import { Findings, ENDED_ENTRIES_KEPT, checkGroups, checkPart, withAncestors } from "@headroom/engine/internals";
import { checkSlices } from "./part-recount.ts";
import { checkNomination } from "./nomination-checks.ts";
import { checkAntiAffinity } from "./anti-affinity-checks.ts";
import { acceptsType, specOf, typeInFamily } from "./held-by-team.ts";
import { heldByNode } from "./recount.ts";
import { checkArtifacts } from "./artifact-checks.ts";
import { checkCapacityOrders } from "./capacity-order-checks.ts";
import { checkProposals } from "./proposal-checks.ts";
import { checkExecutors } from "./executor-checks.ts";
import { checkPipelines } from "./pipeline-checks.ts";
import { checkRemovals } from "./removal-checks.ts";
import { checkRest } from "./rest.ts";
import { checkHotSpares } from "./hot-spare-checks.ts";
import { checkWindows } from "./time-checks.ts";

/** All rules that the state breaks after a round at `nowMs`, one sentence for each. Empty if it breaks none. */
export function checkState(state: ReadonlyState, nowMs: number): string[] {
  const findings = new Findings();
  checkReferences(findings, state);
  checkRemovals(findings, state);
  checkCapacityOrders(findings, state);
  checkProposals(findings, state);
  checkArtifacts(findings, state);
  checkPipelines(findings, state);
  checkExecutors(findings, state);
  checkCommitment(findings, state);
  for (const attempt of state.attempts.values()) {
    checkGang(findings, state, attempt);
    checkAttemptPhase(findings, state, attempt, nowMs);
  }
  for (const workload of state.workloads.values()) {
    checkTasks(findings, state, workload);
    checkWorkloadPhase(findings, state, workload);
  }
  for (const nomination of state.nominations.values()) checkNomination(findings, state, nomination);
  checkAntiAffinity(findings, state);
  checkConservation(findings, state);
  checkAccounts(findings, state);
  checkHotSpares(findings, state, nowMs);
  checkWindows(findings, state, nowMs);
  checkRest(findings, state, nowMs);
  return findings.list;
}

/** Checks that every reference names an existing entity, and that teams form trees. */
function checkReferences(findings: Findings, state: ReadonlyState): void {
  findings.expect(state.teams.has(DEFAULT_TEAM), () => "the default team does not exist");
  for (const pool of state.pools.values())
    findings.expect(state.sites.has(pool.site), () => `pool ${pool.name} lies in unknown site ${pool.site}`);
  const ordinals = new Set<number>();
  for (const node of state.nodes.values()) {
    const pool = state.pools.get(node.pool);
    findings.expect(pool !== undefined, () => `node ${node.id} belongs to unknown pool ${node.pool}`);
    findings.expect(
      pool === undefined || (pool.acceleratorType !== node.acceleratorType) === (node.acceleratorsChanged === true),
      () => `node ${node.id} has type ${node.acceleratorType}, its pool ${pool?.acceleratorType}`,
    );
    findings.expect(
      node.acceleratorsChanged === true || pool?.acceleratorFamily === node.acceleratorFamily,
      () => `node ${node.id} has family ${node.acceleratorFamily}, its pool ${pool?.acceleratorFamily}`,
    );
    findings.expect(
      node.acceleratorsChanged === true || pool?.mig === node.mig,
      () => `node ${node.id} is divided as ${node.mig}, its pool as ${pool?.mig}`,
    );
    findings.expect(
      node.acceleratorsChanged === true || pool?.acceleratorMemoryMib === node.acceleratorMemoryMib,
      () =>
        `accelerators of node ${node.id} have ${node.acceleratorMemoryMib} MiB, its pool ${pool?.acceleratorMemoryMib}`,
    );
    findings.expect(!ordinals.has(node.ordinal), () => `two nodes have ordinal ${node.ordinal}`);
    ordinals.add(node.ordinal);
  }
  for (const team of state.teams.values()) {
    const path = new Set([team.name]);
    for (let at = team.parent; at !== null; at = state.teams.get(at)?.parent ?? null) {
      const known = state.teams.has(at);
      findings.expect(known, () => `team ${team.name} hangs below ${at}, which does not exist`);
      findings.expect(!path.has(at), () => `team ${team.name} lies below itself`);
      if (!known || path.has(at)) break;
      path.add(at);
    }
  }
  for (const workload of state.workloads.values()) {
    if (workload.endedAtMs !== null) continue;
    const { team } = workload.spec;
    findings.expect(state.teams.has(team), () => `${workload.id} belongs to team ${team}, which does not exist`);
  }
}

/** Checks that no accelerator, core or MiB of a node is allocated twice (DESIGN §7.1). */
function checkCommitment(findings: Findings, state: ReadonlyState): void {
  for (const [id, held] of heldByNode(state)) {
    const node = state.nodes.get(id);
    findings.expect(node !== undefined, () => `${[...held.attempts].join(", ")} sits on ${id}, which does not exist`);
    if (node === undefined) continue;
    for (const [index, milli] of held.accelerators) {
      findings.expect(milli <= 1000, () => `accelerator ${index} of ${id} is held ${milli / 1000} times`);
      findings.expect(index < node.acceleratorCount, () => `accelerator ${index} of ${id} is held and does not exist`);
      const slices = held.slices.held.get(index) ?? [];
      checkSlices(findings, `accelerator ${index} of ${id}`, { slices, milli });
    }
    for (const [index, milli] of held.nominated) {
      const staying = (held.accelerators.get(index) ?? 0) - (held.terminating.get(index) ?? 0);
      findings.expect(
        staying + milli <= 1000,
        () => `accelerator ${index} of ${id} is nominated, and held by work that is not terminating`,
      );
      const terminating = held.slices.terminating.get(index) ?? [];
      const slices = (held.slices.held.get(index) ?? []).filter((slice) => !terminating.includes(slice));
      const ahead = [...slices, ...(held.slices.nominated.get(index) ?? [])];
      checkSlices(findings, `accelerator ${index} of ${id}, as promised,`, { slices: ahead, milli: staying + milli });
    }
    const amounts = [
      ["mcores", "coresMilli", node.coresMilli],
      ["MiB", "memoryMib", node.memoryMib],
      ["workers", "workers", node.workersMax ?? Number.MAX_SAFE_INTEGER],
    ] as const;
    for (const [unit, key, most] of amounts) {
      findings.expect(held[key] <= most, () => `${held[key]} of ${most} ${unit} of ${id} are given out`);
      const planned = held[key] - held.away[key] + held.ahead[key];
      findings.expect(planned <= most, () => `${planned} of ${most} ${unit} of ${id} are held and promised`);
    }
  }
}

/** Checks that a gang has all of its workers, on one accepted type (DESIGN §7.2). */
function checkGang(findings: Findings, state: ReadonlyState, attempt: Attempt): void {
  const spec = specOf(state, attempt);
  findings.expect(spec !== undefined, () => `${attempt.id} is active without a workload`);
  if (spec === undefined) return;
  const { gang, acceleratorTypes } = spec;
  const { workers, acceleratorType } = attempt;
  const isIncomplete = attempt.stop?.reason === "incomplete";
  const { missing = [], joining = [] } = attempt;
  const ranks = workers.length + missing.length;
  findings.expect(
    isIncomplete || (ranks >= (gang.minWorkers ?? gang.workers) && ranks <= gang.workers),
    () => `${attempt.id} has ${workers.length} of ${gang.workers} workers`,
  );
  findings.expect(
    missing.length === 0 || attempt.stop !== null,
    () => `${attempt.id} runs on without its ranks ${missing.join(", ")}`,
  );
  findings.expect(
    [...missing, ...joining].every((rank) => rank < ranks),
    () => `${attempt.id} waits for ranks that it does not have: ${[...missing, ...joining].join(", ")}`,
  );
  const { terminating } = attempt;
  findings.expect(terminating === undefined || terminating.length > 0, () => `${attempt.id} waits for nobody to leave`);
  const growing = state.nominations.get(attempt.id);
  const ahead = workers.length + (growing?.workers.length ?? 0);
  findings.expect(ahead <= gang.workers, () => `${attempt.id} has and is promised ${ahead} of ${gang.workers} workers`);
  findings.expect(
    gang.taskGroups !== undefined || acceptsType(state, acceleratorTypes, typeInFamily(state, acceleratorType)),
    () => `${attempt.id} was given ${acceleratorType}, which it does not accept`,
  );
  checkGroups(findings, state, { id: attempt.id, spec, workers, isIncomplete });
  for (const worker of [...workers, ...(terminating ?? [])]) {
    const { node: id, accelerators } = worker;
    const count = acceleratorCount(accelerators);
    const shape = shapeOf(gang, worker);
    const needed = shape.accelerators;
    checkPart(findings, attempt.id, { node: state.nodes.get(id), shape, worker });
    findings.expect(count === needed, () => `${attempt.id} has ${count} of ${needed} accelerators on ${id}`);
    const indices = acceleratorIndices(accelerators);
    findings.expect(
      indices.every((index, position) => position === 0 || index > (indices[position - 1] as number)),
      () => `${attempt.id} holds ${accelerators} of ${id}: not in ascending order`,
    );
    const node = state.nodes.get(id);
    findings.expect(
      gang.taskGroups !== undefined || node === undefined || node.acceleratorType === acceleratorType,
      () => `${attempt.id} runs on ${acceleratorType}, ${id} is of another type`,
    );
  }
}

function checkAttemptPhase(findings: Findings, state: ReadonlyState, attempt: Attempt, nowMs: number): void {
  const { id, phase, stop, startedAtMs, placedAtMs, placedSequence, task, number } = attempt;
  const expected = stop !== null ? "stopping" : startedAtMs !== null ? "running" : "launching";
  findings.expect(phase === expected, () => `${id} is ${phase}, it should be ${expected}`);
  const { launchAtMs } = attempt;
  findings.expect(
    launchAtMs === undefined || (phase === "launching" && launchAtMs > nowMs),
    () => `${id} is ${phase} and waits for its launch until ${launchAtMs}`,
  );
  findings.expect(startedAtMs === null || startedAtMs >= placedAtMs, () => `${id} started before it was placed`);
  findings.expect(
    placedSequence > 0 && placedSequence <= state.sequence,
    () => `${id} was placed at sequence ${placedSequence} of ${state.sequence}`,
  );
  const workload = state.workloads.get(attempt.workloadId);
  if (workload === undefined) return;
  findings.expect(
    workload.activeAttempts.filter((each) => each === id).length === 1,
    () => `${workload.id} does not name its attempt ${id} once`,
  );
  const attempts = task < workload.nextTask ? taskOf(workload, task).attemptCount : 0;
  findings.expect(number === attempts, () => `${id} is attempt ${number} of its task, ${attempts} are on record`);
  const { walltimeMs } = workload.spec;
  const isOver = startedAtMs !== null && walltimeMs !== null && startedAtMs + walltimeMs <= nowMs;
  const isAskedToStop = stop !== null && stop.checkpointUntilMs === undefined;
  findings.expect(!isOver || isAskedToStop, () => `${id} has passed its walltime and nobody stops it`);
  checkCheckpointWait(findings, state, attempt, nowMs);
}

/** Checks that a gang with a requested checkpoint can write one, has time left, and has no reason to stop at once. */
function checkCheckpointWait(findings: Findings, state: ReadonlyState, attempt: Attempt, nowMs: number): void {
  const { id, stop, startedAtMs, workers } = attempt;
  const untilMs = stop?.checkpointUntilMs;
  const workload = state.workloads.get(attempt.workloadId);
  if (untilMs === undefined || workload === undefined) return;
  findings.expect(untilMs > nowMs, () => `${id} is waited for until ${untilMs}, and its time is over`);
  const isAble = workload.spec.checkpointOnRequest === true && startedAtMs !== null;
  findings.expect(isAble, () => `${id} is asked for a checkpoint, which it cannot write`);
  findings.expect(!workload.stopRequested, () => `${id} is waited for, and its workload was cancelled`);
  const isWhole = workers.every(({ node }) => state.nodes.get(node)?.health !== "lost");
  findings.expect(isWhole, () => `${id} is waited for on a node that was lost`);
}

/**
 * Checks that every task is in exactly one of these states: not started, waiting for a retry, active, done, given up.
 */
function checkTasks(findings: Findings, state: ReadonlyState, workload: Workload): void {
  const { id, spec, nextTask, waitingTasks, activeAttempts, succeededCount, failedCount } = workload;
  const taskCount = taskCountOf(spec);
  const ahead = workload.stoppedAhead ?? [];
  // A task whose attempt will migrate is nominated, but still runs in its old place.
  const nominated = [...state.nominations.values()].filter(
    ({ workloadId, growth, afterAttempt }) => workloadId === id && !growth && afterAttempt === undefined,
  );
  const begun = waitingTasks.length + activeAttempts.length + nominated.length + succeededCount + failedCount;
  findings.expect(nextTask <= taskCount, () => `${id} has begun ${nextTask} of ${taskCount} tasks`);
  // Tasks stopped by a cancellation are not counted.
  findings.expect(
    workload.stopRequested ? begun <= nextTask + ahead.length : begun === nextTask + ahead.length,
    () => `${id} has begun ${nextTask} tasks and stopped ${ahead.length} more, ${begun} are accounted for`,
  );
  const stopped = [...workload.tasks.values()].filter(({ index }) => index >= nextTask);
  findings.expect(
    stopped.every((task) => task.isGivenUp && task.isStopRequested === true && task.attemptCount === 0),
    () => `${id} has records of tasks that it never began`,
  );
  findings.expect(
    ahead.join() === numbersOf(stopped).join() && ahead[0] !== nextTask,
    () => `${id} lists ${ahead.join(", ")} as stopped before their start, ${numbersOf(stopped).join(", ")} are`,
  );
  const open: number[] = [...waitingTasks];
  for (const attemptId of activeAttempts) {
    const attempt = state.attempts.get(attemptId);
    findings.expect(attempt?.workloadId === id, () => `${id} names ${attemptId}, which is not an active attempt of it`);
    if (attempt !== undefined) open.push(attempt.task);
  }
  for (const { task } of nominated) open.push(task);
  checkScale(findings, state, workload);
  findings.expect(new Set(open).size === open.length, () => `a task of ${id} runs or waits twice: ${open.join(", ")}`);
  findings.expect(
    open.every((task) => task < nextTask),
    () => `${id} runs or retries a task that it never began: ${open.join(", ")}`,
  );
  const waiting = numbersOf([...workload.tasks.values()].filter(isWaiting));
  findings.expect(
    waiting.join() === waitingTasks.join(),
    () => `${id} lists ${waitingTasks.join(", ")} as waiting tasks, ${waiting.join(", ")} wait`,
  );
  findings.expect(
    workload.endedAttempts.length <= ENDED_ATTEMPTS_KEPT,
    () => `${id} keeps ${workload.endedAttempts.length} ended attempts`,
  );
}

/** Checks that both revisions of an endpoint have no more replicas than they need, and that others are being stopped. */
function checkRollout(findings: Findings, state: ReadonlyState, workload: Workload): void {
  const { id, scale, rollout, spec, activeAttempts, revisionNumber = 1 } = workload;
  const counts = new Map<number, number>();
  for (const each of activeAttempts) {
    const attempt = state.attempts.get(each);
    if (attempt?.stop !== null) continue;
    const number = attempt.revisionNumber ?? 1;
    counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  for (const [number, count] of counts) {
    const ofPresent = number === revisionNumber ? (rollout?.stable ?? scale?.replicas ?? 0) : 0;
    const allowed = number === rollout?.number ? rollout.canary : ofPresent;
    findings.expect(
      count <= allowed,
      () => `${id} runs ${count} replicas of revision ${number}, ${allowed} are needed`,
    );
  }
  if (rollout === undefined || spec.kind !== "serve") return;
  const least = Math.min(scale?.replicas ?? 0, spec.replicas.min);
  const { number, stable, canary, steps } = rollout;
  findings.expect(number > revisionNumber, () => `${id} rolls revision ${number} out after ${revisionNumber}`);
  findings.expect(stable + canary >= least, () => `${id} is to have ${stable} + ${canary} replicas in a rollout`);
  findings.expect(
    steps === undefined || stable === (scale?.replicas ?? 0),
    () => `${id} loses present replicas during a rollout in steps`,
  );
}

/** Checks that an endpoint has no more replicas than it needs, within its bounds, and gives none of them up. */
function checkScale(findings: Findings, state: ReadonlyState, workload: Workload): void {
  const { id, spec, scale, account, activeAttempts, stopRequested, endedAtMs, nextTask, tasks } = workload;
  findings.expect(
    (spec.kind === "serve") === (scale !== undefined),
    () => `${id} has a number of replicas, or lacks it`,
  );
  if (spec.kind !== "serve" || scale === undefined || stopRequested || endedAtMs !== null) return;
  const { replicas } = scale;
  const isSpent = account?.crossed?.percent === 100 && spec.budget !== undefined && spec.budget.over !== "warn";
  const most = spec.budget?.over === "stop" ? 0 : spec.replicas.min;
  const { min, max } = isSpent ? { min: Math.min(most, replicas), max: most } : spec.replicas;
  findings.expect(
    replicas >= min && replicas <= max,
    () => `${id} has ${replicas} replicas, allowed are ${min} to ${max}`,
  );
  const staying = activeAttempts.filter((each) => state.attempts.get(each)?.stop === null).length;
  const nominated = [...state.nominations.values()].filter(({ workloadId, growth }) => workloadId === id && !growth);
  const running = staying + nominated.length;
  const { rollout } = workload;
  const needed = rollout === undefined ? replicas : rollout.stable + rollout.canary;
  findings.expect(running <= needed, () => `${id} runs ${running} replicas, ${needed} are needed`);
  checkRollout(findings, state, workload);
  findings.expect(nextTask === 0 || tasks.size <= nextTask, () => `${id} has records of replicas that never began`);
  findings.expect(
    [...tasks.values()].every(({ isGivenUp }) => !isGivenUp),
    () => `${id} gave up a replica`,
  );
  for (const each of activeAttempts) {
    const attempt = state.attempts.get(each);
    const sinceMs = attempt?.notReadySinceMs ?? attempt?.startedAtMs ?? null;
    const isLate = attempt?.ready === undefined && sinceMs !== null && sinceMs + spec.ready.timeoutMs <= state.nowMs;
    findings.expect(!isLate || attempt?.stop !== null, () => `${each} is not ready in time and runs on`);
  }
}

const numbersOf = (tasks: readonly Task[]): readonly number[] =>
  tasks.map(({ index }) => index).toSorted((left, right) => left - right);

function checkWorkloadPhase(findings: Findings, state: ReadonlyState, workload: Workload): void {
  const { id, phase, stopRequested, activeAttempts, endedAtMs, endReason, failedCount, nextTask, waitingTasks } =
    workload;
  const isActive = activeAttempts.length > 0;
  const isNominated = [...state.nominations.values()].some(({ workloadId, growth }) => workloadId === id && !growth);
  const isWaiting =
    !stopRequested && (isNominated || begunTaskCount(workload) < taskCountOf(workload.spec) || waitingTasks.length > 0);
  if (endedAtMs === null) {
    const expected = stopRequested ? "stopping" : isActive ? "running" : "pending";
    findings.expect(phase === expected, () => `${id} is ${phase}, it should be ${expected}`);
    findings.expect(isActive || isWaiting, () => `${id} has no task left and has not ended`);
    findings.expect(endReason === null, () => `${id} has not ended, for the reason ${endReason?.kind}`);
    return;
  }
  // Work whose dependency can never be met ends without starting a task.
  const isHopeless = endReason?.kind === "dependencyNotMet";
  const expected = stopRequested || isHopeless ? "cancelled" : failedCount > 0 ? "failed" : "succeeded";
  findings.expect(phase === expected, () => `${id} ended as ${phase}, it should be ${expected}`);
  findings.expect(
    !isActive && (!isWaiting || (isHopeless && nextTask === 0)),
    () => `${id} ended with tasks under way`,
  );
  const reasons = { cancelled: ["cancelled", "dependencyNotMet"], succeeded: ["allTasksSucceeded"] }[
    phase as string
  ] ?? ["tasksFailed", "retriesExhausted", "walltimeExceeded"];
  findings.expect(
    endReason !== null && reasons.includes(endReason.kind),
    () => `${id} is ${phase} for the reason ${endReason?.kind}`,
  );
}

/** Checks that every submitted workload exists or has ended, and is kept for the declared time. */
function checkConservation(findings: Findings, state: ReadonlyState): void {
  const { submittedCount, endedCount, workloads, answers, endedEntries } = state;
  let lastOrdinal = 0;
  let endedKept = 0;
  let isRerun = false;
  for (const workload of workloads.values()) {
    findings.expect(workload.ordinal > lastOrdinal, () => `${workload.id} is out of the order of submission`);
    lastOrdinal = workload.ordinal;
    if (workload.endedAtMs !== null) endedKept++;
    isRerun ||= workload.rerun !== undefined;
  }
  findings.expect(lastOrdinal <= submittedCount, () => `workload ${lastOrdinal} of ${submittedCount} exists`);
  const unended = workloads.size - endedKept;
  findings.expect(
    unended === submittedCount - endedCount,
    () => `${unended} workloads have not ended; ${submittedCount} were submitted and ${endedCount} ended`,
  );
  const kept = Math.min(endedCount, ENDED_WORKLOADS_KEPT);
  // A rerun workload was counted when it ended, but is no longer kept as ended. The number of such ends among dropped
  // workloads is not known.
  findings.expect(
    isRerun ? endedKept <= kept : endedKept === kept,
    () => `${endedKept} ended workloads are kept, ${kept} should be`,
  );
  findings.expect(answers.size <= ANSWERS_KEPT, () => `${answers.size} answers are kept`);
  findings.expect(endedEntries.size <= ENDED_ENTRIES_KEPT, () => `${endedEntries.size} past entries are kept`);
}

/**
 * Checks that exactly the teams with a budget have an account, and that no work continues after a budget with `over:
 * stop` is used up.
 */
function checkAccounts(findings: Findings, state: ReadonlyState): void {
  for (const { name, budget } of state.teams.values())
    findings.expect(
      (budget !== undefined) === state.accounts.has(name),
      () => `team ${name} has ${budget === undefined ? "an account and no budget" : "a budget and no account"}`,
    );
  const stopping = new Set(
    [...state.accounts].flatMap(([team, { crossed }]) =>
      crossed?.percent === 100 && state.teams.get(team)?.budget?.over === "stop" ? [team] : [],
    ),
  );
  if (stopping.size === 0) return;
  for (const attempt of state.attempts.values()) {
    const spec = specOf(state, attempt);
    const isOver = spec !== undefined && withAncestors(state, spec.team).some((team) => stopping.has(team));
    findings.expect(!isOver || attempt.stop !== null, () => `${attempt.id} runs on with its team's budget used up`);
  }
}
