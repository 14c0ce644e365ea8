/** Findings as resources of the API. */
import type { ReadonlyState } from "@headroom/engine";
import type { Finding as FleetFinding } from "@headroom/health";
import type { Proposal } from "@headroom/model";
import type { Finding } from "@headroom/protocol";
import { proposedChangeText } from "./proposal-text.ts";
import { isReadable } from "./readable-teams.ts";
import type { ReadableTeams } from "./readable-teams.ts";

const FINDINGS_SHOWN_MAX = 1_000;

interface FollowedFinding {
  readonly finding: FleetFinding;
  readonly proposal: Proposal | null;
}

/** Findings about work of teams that the reader may not see are left out. */
export function findingsView(
  { workloads }: Pick<ReadonlyState, "workloads">,
  followed: readonly FollowedFinding[],
  readable: ReadableTeams,
): readonly Finding[] {
  const nameOf = (id: string): string => workloads.get(id as never)?.spec.name ?? id;
  return followed
    .filter(({ finding: { team } }) => team === null || isReadable(readable, team))
    .slice(0, FINDINGS_SHOWN_MAX)
    .map(({ finding: { id, kind, sinceMs, reason, team, change, ground }, proposal }) => ({
      id,
      kind,
      sinceMs,
      sentence: reason,
      team,
      change: JSON.parse(JSON.stringify(change)) as Finding["change"],
      remedy: proposedChangeText(change, nameOf),
      ground: ground.map(({ measure, valueMilli, unit }) => ({ measure, value: valueMilli / 1000, unit })),
      proposal: proposal === null ? null : { id: proposal.id, phase: proposal.phase },
    }));
}
