/**
 * The share of each team that follows from its usage history, as `sshare` of Slurm shows it: its share by weight, its
 * share of the decayed usage, and the part of its weight that remains.
 */
import { decayedUsageOf } from "@headroom/explain";
import type { Engine } from "@headroom/engine";
import type { TeamName } from "@headroom/model";
import type { Team } from "@headroom/protocol";

type FairShare = NonNullable<Team["fairShare"]>;

/** By team; empty if usage history does not count under the policy. One pass for all teams of a request. */
export function fairShares(engine: Engine): ReadonlyMap<TeamName, FairShare> {
  const { state } = engine;
  const teams = [...state.teams.values()];
  const used = new Map(teams.map(({ name }) => [name, decayedUsageOf(engine, name)?.accelerators ?? null] as const));
  if ([...used.values()].every((amount) => amount === null)) return new Map();
  const total = [...state.nodes.values()].reduce((sum, node) => sum + node.acceleratorCount, 0);
  const weights = sumsByParent(teams, ({ weight }) => weight ?? 1);
  const usages = sumsByParent(teams, ({ name }) => used.get(name) ?? 0);
  const shares = new Map<TeamName, number>();
  const shareOf = (name: TeamName): number => {
    const known = shares.get(name);
    if (known !== undefined) return known;
    const team = state.teams.get(name);
    if (team === undefined) return 1;
    const sum = weights.get(team.parent) ?? 0;
    const own = sum === 0 ? 0 : (team.weight ?? 1) / sum;
    const share = own * (team.parent === null ? 1 : shareOf(team.parent));
    shares.set(name, share);
    return share;
  };
  return new Map(
    teams.map(({ name, parent, guarantee }) => {
      const past = used.get(name) ?? 0;
      const siblings = usages.get(parent) ?? 0;
      const part = shareOf(name) * total;
      const beyond = Math.max(0, past - (guarantee?.["accelerators"] ?? 0));
      return [
        name,
        {
          weightShare: rounded(shareOf(name)),
          usageShare: rounded(siblings === 0 ? 0 : past / siblings),
          weightLeft: rounded(part === 0 || beyond === 0 ? 1 : part / (part + beyond)),
        },
      ];
    }),
  );
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

function sumsByParent<Of extends { readonly parent: TeamName | null }>(
  teams: readonly Of[],
  amountOf: (team: Of) => number,
): ReadonlyMap<TeamName | null, number> {
  const sums = new Map<TeamName | null, number>();
  for (const team of teams) sums.set(team.parent, (sums.get(team.parent) ?? 0) + amountOf(team));
  return sums;
}
