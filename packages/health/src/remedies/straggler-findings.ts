/**
 * Nodes whose ranks have been slower than the others of their gang for a while. They are advice: step times come from the work
 * itself, whose ranks may have more to do, so they take no node out of service. The suite of the node tells.
 */
import type { TeamName } from "@headroom/model";
import { ground, shortReason, type Finding } from "./finding.ts";

/** Percent over the median, of the step or of a part of it, from which on a suite pays. */
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
    /** The slow part of the step. Absent: the ranks state no parts, or the whole step was named. */
    readonly part?: { readonly name: string; readonly slowerPercent: number };
    readonly sinceMs: number;
  }[];
}

/** One finding for each slow node of each gang, the slowest first. */
export function stragglerFindings(gangs: readonly ComparedGang[]): readonly Finding[] {
  const found = gangs.flatMap((gang) => {
    const slow = gang.ranks.filter(
      (rank) => slownessOf(rank) >= SLOWER_MIN && gang.comparedAtMs - rank.sinceMs >= SLOW_FOR_MS,
    );
    return [...Map.groupBy(slow, ({ nodeId }) => nodeId)].flatMap(([node, ranks]) => {
      const [slowest] = ranks.toSorted((left, right) => slownessOf(right) - slownessOf(left));
      return slowest === undefined
        ? []
        : [{ slower: slownessOf(slowest), finding: findingOf(gang, node, { ranks, slowest }) }];
    });
  });
  return found
    .toSorted((left, right) => right.slower - left.slower || (left.finding.id < right.finding.id ? -1 : 1))
    .slice(0, FINDINGS_MAX)
    .map(({ finding }) => finding);
}

type SlowRank = ComparedGang["ranks"][number];

/** A part counts by its own slowdown: a slow input of a tenth of the step adds a few percent to the whole. */
const slownessOf = ({ slowerPercent, part }: SlowRank): number => Math.max(slowerPercent, part?.slowerPercent ?? 0);

function findingOf(
  { workloadId, name, team, comparedRanks }: ComparedGang,
  node: string,
  { ranks, slowest }: { readonly ranks: readonly SlowRank[]; readonly slowest: SlowRank },
): Finding {
  const { slowerPercent, part } = slowest;
  const which = part === undefined ? "" : ` in part ${part.name}, ${factorText(part.slowerPercent)} the median of it`;
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
    reason: shortReason(
      `ranks ${numbers.join(", ")} of ${name} (${workloadId}) on ${node} are slower than the others${which}`,
    ),
    ground: [
      ground("slower than the median", slowerPercent, "%"),
      ...(part === undefined ? [] : [ground(`part ${part.name} slower than the median`, part.slowerPercent, "%")]),
      ground("slow ranks of the node", ranks.length),
      ground("ranks compared", comparedRanks),
    ],
  };
}

/** Percent above the median as a factor: 20% is `1.2 times`. */
const factorText = (percent: number): string => `${Math.round(100 + percent) / 100} times`;
