/** Past work that was imported, by team. */
import type { ReadonlyState } from "@headroom/engine";
import type { ImportedHistory, TeamName } from "@headroom/model";
import type { ImportedHistoryView } from "@headroom/protocol";

const HOUR_MS = 3_600_000;

/** Accelerator-hours, to a tenth. */
export const hoursOf = (acceleratorMs: number): number => Math.round((acceleratorMs / HOUR_MS) * 10) / 10;

interface ShownHistory extends ImportedHistory {
  readonly importedAtMs: number | null;
  readonly actor: string;
}

export function historyView({ teams }: Pick<ReadonlyState, "teams">, history: ShownHistory): ImportedHistoryView {
  const { uses, runs, ...figures } = history;
  const used = new Map<TeamName, number>();
  for (const { team, acceleratorMs } of uses) used.set(team, (used.get(team) ?? 0) + acceleratorMs);
  return {
    ...figures,
    teams: [...used]
      .toSorted(([, one], [, other]) => other - one)
      .map(([team, acceleratorMs]) => ({
        team,
        isDeclared: teams.has(team),
        acceleratorHours: hoursOf(acceleratorMs),
        runCount: runs.filter((run) => run.team === team).length,
      })),
  };
}
