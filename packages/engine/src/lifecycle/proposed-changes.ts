/**
 * The command that makes a proposed change: the only translation of a change into inputs. Counterfactual runs, what-ifs
 * and the change itself use it, so a simulated change is the one that is made.
 */
import { teamWithQuota, unreachable } from "@headroom/model";
import type { Command, ProposedChange } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

type ChangeCommandKind = "apply" | "changeWorkload" | "drainNode";

export type ChangeCommandBody = {
  [Kind in ChangeCommandKind]: Omit<
    Extract<Command, { readonly kind: Kind }>,
    "commandId" | "actor" | "idempotencyKey"
  >;
}[ChangeCommandKind];

/** `null`: the team does not exist, or the change is a phase of the round (`defragment`). */
export function commandOfChange(
  { teams }: Pick<ReadonlyState, "teams">,
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
      return null;
    default:
      return unreachable(change);
  }
}
