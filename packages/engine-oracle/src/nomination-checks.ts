/**
 * Checks of nominations. A nomination matches the gang's request, is on nodes that take work, and belongs to waiting
 * work.
 */
import { acceleratorCount, shapeOf } from "@headroom/model";
import type { Nomination } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { checkGroups, checkPart } from "@headroom/engine/internals";
import type { Findings } from "@headroom/engine/internals";
import { acceptsType, typeInFamily } from "./held-by-team.ts";
import { isUsable } from "./recount.ts";

export function checkNomination(findings: Findings, state: ReadonlyState, nomination: Nomination): void {
  const { attemptId, workloadId, acceleratorType, workers, growth, afterAttempt } = nomination;
  const workload = state.workloads.get(workloadId);
  findings.expect(workload !== undefined, () => `a place is promised to ${workloadId}, which does not exist`);
  if (workload === undefined) return;
  const { gang, acceleratorTypes } = workload.spec;
  const running = state.attempts.get(attemptId);
  findings.expect(!workload.stopRequested || running !== undefined, () => `${workloadId} is to stop and has a promise`);
  findings.expect(
    growth === (running !== undefined),
    () => `${attemptId} ${growth ? "does not run and is to grow" : "runs and is to start"}`,
  );
  if (afterAttempt !== undefined) {
    const migrating = state.attempts.get(afterAttempt);
    findings.expect(
      migrating?.stop?.reason === "migrated",
      () => `${attemptId} waits for ${afterAttempt} to migrate, which does not`,
    );
    findings.expect(
      migrating?.task === nomination.task,
      () => `${attemptId} is to go on with another task than ${afterAttempt}`,
    );
  }
  const least = growth ? 1 : (gang.minWorkers ?? gang.workers);
  findings.expect(
    workers.length >= least && workers.length <= gang.workers,
    () => `${attemptId} is promised ${workers.length} of ${least} workers`,
  );
  const before = growth ? (running?.workers ?? []) : [];
  checkGroups(findings, state, {
    id: attemptId,
    spec: workload.spec,
    workers: [...before, ...workers],
    isIncomplete: growth,
  });
  findings.expect(
    gang.taskGroups !== undefined ||
      (growth
        ? acceleratorType === running?.acceleratorType
        : acceptsType(state, acceleratorTypes, typeInFamily(state, acceleratorType))),
    () => `${attemptId} is promised ${acceleratorType}, which it does not accept`,
  );
  for (const worker of workers) {
    const { node: id, accelerators } = worker;
    const node = state.nodes.get(id);
    findings.expect(
      node !== undefined && isUsable(node),
      () => `${attemptId} is promised a place on ${id}, which takes no work`,
    );
    findings.expect(
      gang.taskGroups !== undefined || node?.acceleratorType === acceleratorType,
      () => `${attemptId} is promised ${acceleratorType} on ${id}`,
    );
    const count = acceleratorCount(accelerators);
    const shape = shapeOf(gang, worker);
    const needed = shape.accelerators;
    checkPart(findings, attemptId, { node, shape, worker });
    findings.expect(count === needed, () => `${attemptId} is promised ${count} of ${needed} accelerators on ${id}`);
  }
}
