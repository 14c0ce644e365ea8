/**
 * Proposals over time: approved changes are made, automatic ones are approved within the budget of change, old ones
 * expire, and those that were acted on are scored.
 */
import { commandId, unreachable, usualDefragmentation } from "@headroom/model";
import type {
  PipelineRun,
  PipelineRunId,
  Proposal,
  ProposalScore,
  ProposalStep,
  Rejection,
  SimulatedStart,
  WorkloadId,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { proposedMove } from "../lifecycle/alias-gates.ts";
import { moveAlias } from "../lifecycle/artifacts.ts";
import { apply } from "../lifecycle/apply-documents.ts";
import { createCapacityOrder } from "../lifecycle/capacity-orders.ts";
import { changeWorkload } from "../lifecycle/change-workload.ts";
import { proposalRuleOf } from "../lifecycle/change-budget.ts";
import type { Decision } from "../lifecycle/decision.ts";
import { drainNode, resumeNode } from "../lifecycle/govern.ts";
import { restartWorkload } from "../lifecycle/restart-workload.ts";
import { approvalRefusal, changeRefusal } from "../lifecycle/proposals.ts";
import { commandOfChange } from "../lifecycle/proposed-changes.ts";
import type { ChangeCommandBody } from "../lifecycle/proposed-changes.ts";
import type { ReadonlyState } from "../state/state.ts";
import { gather } from "./defragment.ts";

/** The actor of changes that a rule approved. */
const AUTOMATIC = "headroom";

export function keepProposals(batch: Batch): void {
  const { proposals } = batch.world.state;
  if (proposals.size === 0) return;
  for (const id of proposals.keys()) keepProposal(batch, id);
}

/** As in each round: approves by the rule, makes the approved change, or lets it expire. */
export function keepProposal(batch: Batch, id: string): void {
  const { state } = batch.world;
  const proposal = state.proposals.get(id);
  if (proposal === undefined) return;
  const { phase, expiresAtMs, change } = proposal;
  if (phase === "approved") return act(batch, proposal);
  if (phase !== "advised" && phase !== "simulated") return;
  const fact = { version: 1, atMs: batch.nowMs, id } as const;
  if (expiresAtMs <= batch.nowMs) return batch.emit({ kind: "proposalExpired", ...fact });
  if (proposalRuleOf(state, change.kind).mode !== "automatic" || approvalRefusal(batch, proposal, null) !== null)
    return;
  batch.emit({ kind: "proposalApproved", ...fact, actor: null, reason: "" });
  const approved = state.proposals.get(id);
  if (approved !== undefined) act(batch, approved);
}

/** Makes the change. The user who approved it is the actor of its events. */
function act(batch: Batch, { id, change, steps, reason, run }: Proposal): void {
  const fact = { version: 1, atMs: batch.nowMs, id } as const;
  if (change.kind === "defragment") {
    const migrations = gather(batch, batch.world.rules.defragment ?? usualDefragmentation, change.migrationsMax);
    return batch.emit({ kind: "proposalActed", ...fact, migrations });
  }
  const move = change.kind === "alias" ? proposedMove(change) : null;
  if (move !== null) {
    const author = { actor: approverOf(steps), reason: reasonOfMove(id, reason), run: runOf(batch, run) };
    const refusal = moveAlias(batch, { ...move, by: "proposal" }, author);
    return batch.emit(
      refusal === null ? { kind: "proposalActed", ...fact } : { kind: "proposalFailed", ...fact, code: refusal.code },
    );
  }
  const refusal =
    changeRefusal(batch.world, change, batch.nowMs) ?? make(batch, commandOfChange(batch.world.state, change), steps);
  if (refusal === null) batch.emit({ kind: "proposalActed", ...fact });
  else batch.emit({ kind: "proposalFailed", ...fact, code: refusal.code });
}

const approverOf = (steps: readonly ProposalStep[]): string =>
  steps.findLast(({ phase }) => phase === "approved")?.actor ?? AUTOMATIC;

const reasonOfMove = (id: string, reason: string): string => `proposal ${id}${reason === "" ? "" : `: ${reason}`}`;

const runOf = ({ world: { state } }: Batch, id: PipelineRunId | undefined): PipelineRun | null =>
  (id === undefined ? undefined : state.pipelineRuns.get(id)) ?? null;

function make(batch: Batch, body: ChangeCommandBody | null, steps: readonly ProposalStep[]): Rejection | null {
  if (body === null) return null;
  const common = { commandId: commandId("proposal"), actor: approverOf(steps), idempotencyKey: null };
  const decision = decisionOf(batch, body, common);
  return decision.kind === "refused" ? decision.rejection : null;
}

function decisionOf(
  batch: Batch,
  body: ChangeCommandBody,
  common: { readonly commandId: ReturnType<typeof commandId>; readonly actor: string; readonly idempotencyKey: null },
): Decision {
  switch (body.kind) {
    case "apply":
      return apply(batch, { ...common, ...body });
    case "changeWorkload":
      return changeWorkload(batch, { ...common, ...body });
    case "drainNode":
      return drainNode(batch, { ...common, ...body });
    case "resumeNode":
      return resumeNode(batch, { ...common, ...body });
    case "createCapacityOrder":
      return createCapacityOrder(batch, { ...common, ...body });
    case "restartWorkload":
      return restartWorkload(batch, { ...common, ...body });
    default:
      return unreachable(body);
  }
}

/** Scores proposals whose simulated starts have taken place, or whose horizon is over. */
export function scoreProposals(batch: Batch): void {
  if (batch.world.state.proposals.size > 0) scoreActed(batch);
}

function scoreActed(batch: Batch): void {
  const { state } = batch.world;
  for (const { id, phase, change, effect, actedAtMs } of state.proposals.values()) {
    if (phase !== "acted" || actedAtMs === null) continue;
    // Ordered nodes are simulated as if they were here; their starts are no forecast.
    const starts = change.kind === "order" ? [] : (effect?.starts ?? []);
    const expected = starts.filter(({ changedAtMs }) => changedAtMs !== null);
    const isOver = batch.nowMs >= actedAtMs + (effect?.horizonMs ?? 0);
    const isKnown = expected.length > 0 && expected.every(({ workloadId }) => !waits(state, workloadId));
    if (!isOver && !isKnown) continue;
    const score = scoreOf(state, expected, batch.nowMs);
    batch.emit({ kind: "proposalScored", version: 1, atMs: batch.nowMs, id, score });
  }
}

const waits = ({ workloads }: ReadonlyState, id: WorkloadId): boolean => {
  const workload = workloads.get(id);
  return workload !== undefined && workload.endedAtMs === null && workload.activeAttempts.length === 0;
};

function scoreOf(state: ReadonlyState, expected: readonly SimulatedStart[], atMs: number): ProposalScore {
  const errors = expected.flatMap(({ workloadId, changedAtMs }) => {
    const placedAtMs = placedSince(state, workloadId);
    return placedAtMs === null || changedAtMs === null ? [] : [Math.abs(placedAtMs - changedAtMs)];
  });
  const sum = errors.reduce((total, error) => total + error, 0);
  const meanErrorMs = errors.length === 0 ? 0 : Math.round(sum / errors.length);
  return { atMs, expectedCount: expected.length, startedCount: errors.length, meanErrorMs };
}

/** The placement of the first active attempt, or the end of work that has ended since; `null`: it waits, or is unknown. */
function placedSince({ workloads, attempts }: ReadonlyState, id: WorkloadId): number | null {
  const workload = workloads.get(id);
  const [first] = workload?.activeAttempts ?? [];
  return (first === undefined ? undefined : attempts.get(first)?.placedAtMs) ?? workload?.endedAtMs ?? null;
}
