/** What a policy would have started after a round: who is the head, and who waits although it fits. */
import type { Workload } from "../model/workload.ts";
import type { ReadonlyState } from "../state/state.ts";
import type { Findings } from "./findings.ts";
import { compareByPolicy, feasibility, hasReadyTask } from "./recount.ts";

/**
 * The first of the queue, under a policy whose head blocks; `null` under any other. Who is held by a limit or by a fleet too
 * small waits aside.
 */
export function blockingHead(state: ReadonlyState, nowMs: number): Workload | null {
  if (state.policy.whenHeadBlocked !== "stop") return null;
  const { mayBlock } = feasibility(state);
  let head: Workload | null = null;
  for (const workload of state.workloads.values()) {
    if (!hasReadyTask(workload, nowMs) || !mayBlock(workload.spec)) continue;
    if (head === null || compareByPolicy(state.policy, workload, head) < 0) head = workload;
  }
  return head;
}

/** After a round nothing that the policy would start now waits (DESIGN §7.11, for policies without reservations). */
export function checkRest(findings: Findings, state: ReadonlyState, nowMs: number): void {
  const { couldNow } = feasibility(state);
  const head = blockingHead(state, nowMs);
  const isFirst = (workload: Workload): boolean =>
    state.policy.whenHeadBlocked === "stop" ? workload === head : hasReadyTask(workload, nowMs);
  for (const workload of state.workloads.values()) {
    // Wishes for the fabric and protected starts of others keep work waiting that would fit by counts.
    const { fabric, spread } = workload.spec;
    if (!isFirst(workload) || fabric !== undefined || spread !== undefined || reservesStarts(state)) continue;
    findings.expect(!couldNow(workload.spec), () => `${workload.id} waits although it fits`);
  }
}

const reservesStarts = ({ policy }: ReadonlyState): boolean => (policy.backfill?.reserve ?? "none") !== "none";
