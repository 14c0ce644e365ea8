/**
 * The command that makes a proposed change: the only translation of a change into inputs. Counterfactual runs, what-ifs
 * and the change itself use it, so a simulated change is the one that is made.
 */
import { teamWithQuota, unreachable } from "@headroom/model";
import type { Command, ProposedChange } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

type ChangeCommandKind =
  | "apply"
  | "changeWorkload"
  | "drainNode"
  | "resumeNode"
  | "restartWorkload"
  | "createCapacityOrder";

export type ChangeCommandBody = {
  [Kind in ChangeCommandKind]: Omit<
    Extract<Command, { readonly kind: Kind }>,
    "commandId" | "actor" | "idempotencyKey"
  >;
}[ChangeCommandKind];

/**
 * `null`: the team or the pool does not exist, the change is a phase of the round (`defragment`), it is advice, it is made
 * outside the engine (`remediate`), or it moves an alias past its gate, which no command does (`alias`).
 */
export function commandOfChange(
  { teams, pools }: Pick<ReadonlyState, "teams" | "pools">,
  change: ProposedChange,
): ChangeCommandBody | null {
  switch (change.kind) {
    case "quota": {
      const team = teams.get(change.team);
      if (team === undefined) return null;
      return { kind: "apply", sites: [], pools: [], teams: [teamWithQuota(team, change)], workloads: [] };
    }
    case "priority":
      return { kind: "changeWorkload", workloadId: change.workloadId, changes: { priority: change.priority } };
    case "drain":
      return { kind: "drainNode", nodeId: change.nodeId, running: change.running };
    case "defragment":
    case "advice":
    case "remediate":
    case "alias":
      return null;
    case "order":
      return { kind: "createCapacityOrder", order: change.order, phase: "planned", reason: "proposed" };
    case "resume":
      return { kind: "resumeNode", nodeId: change.nodeId };
    case "restart":
      return { kind: "restartWorkload", workloadId: change.workloadId };
    case "spares": {
      const pool = pools.get(change.pool);
      if (pool === undefined) return null;
      const { hotSpares: _former, ...plain } = pool;
      const changed = change.hotSpares === 0 ? plain : { ...plain, hotSpares: change.hotSpares };
      return { kind: "apply", sites: [], pools: [changed], teams: [], workloads: [] };
    }
    case "request": {
      const { kind: _kind, workloadId, ...changes } = change;
      return { kind: "changeWorkload", workloadId, changes };
    }
    default:
      return unreachable(change);
  }
}
