/**
 * Nodes whose ranks have been slower than the others of their gang for a while. They are advice: step times come from the work
 * itself, whose ranks may have more to do, so they take no node out of service. The suite of the node tells.
 */
import type { TeamName } from "@headroom/model";
import { ground, shortReason, type Finding } from "./finding.ts";

/** Percent over the median from which on a suite pays. */
const SLOWER_MIN = 10;
/** Time in ms for which comparisons named the rank: a pause of the node's other work is shorter. */
const SLOW_FOR_MS = 600_000;
const FINDINGS_MAX = 50;

export interface ComparedGang {
  readonly workloadId: string;
  readonly name: string;
  readonly team: TeamName;
  readonly comparedRanks: number;
  /** Time of the newest comparison, which named the ranks. */
  readonly comparedAtMs: number;
  readonly ranks: readonly {
    readonly rank: number;
    /** The node on which the times of the rank were compared. */
    readonly nodeId: string;
    readonly slowerPercent: number;
    readonly sinceMs: number;
  }[];
}

/** One finding for each slow node of each gang, the slowest first. */
export function stragglerFindings(gangs: readonly ComparedGang[]): readonly Finding[] {
  const found = gangs.flatMap((gang) => {
    const slow = gang.ranks.filter(
      ({ slowerPercent, sinceMs }) => slowerPercent >= SLOWER_MIN && gang.comparedAtMs - sinceMs >= SLOW_FOR_MS,
    );
    return [...Map.groupBy(slow, ({ nodeId }) => nodeId)].map(([node, ranks]) => {
      const slower = Math.max(...ranks.map(({ slowerPercent }) => slowerPercent));
      return { slower, finding: findingOf(gang, node, { ranks, slower }) };
    });
  });
  return found
    .toSorted((left, right) => right.slower - left.slower || (left.finding.id < right.finding.id ? -1 : 1))
    .slice(0, FINDINGS_MAX)
    .map(({ finding }) => finding);
}

function findingOf(
  { workloadId, name, team, comparedRanks }: ComparedGang,
  node: string,
  { ranks, slower }: { readonly ranks: ComparedGang["ranks"]; readonly slower: number },
): Finding {
  const numbers = ranks.map(({ rank }) => rank).toSorted((left, right) => left - right);
  return {
    id: `straggler:${workloadId}:${node}`,
    kind: "straggler",
    sinceMs: Math.min(...ranks.map(({ sinceMs }) => sinceMs)),
    change: {
      kind: "advice",
      about: shortReason(`ranks of ${workloadId} on node ${node}`),
      text: shortReason(`prove the node: headroom nodes qualify ${node}`),
    },
    team,
    reason: shortReason(`ranks ${numbers.join(", ")} of ${name} (${workloadId}) on ${node} are slower than the others`),
    ground: [
      ground("slower than the median", slower, "%"),
      ground("slow ranks of the node", ranks.length),
      ground("ranks compared", comparedRanks),
    ],
  };
}
