/** Usage history that imported past work leaves, in the same averages as that of own work. Only accelerators are known. */
import type { DecayedUsage, RecordedHistory, ImportedUse, Team, TeamName } from "@headroom/model";
import { freshUse, useAsOf } from "./decayed-usage.ts";
import type { HalfLife } from "./half-life.ts";

/** Key of the usage history of a team, or of one user in the team. No name contains a line break. */
export const usageKey = (team: TeamName, user?: string): string => (user === undefined ? team : `${team}\n${user}`);

interface PastState {
  readonly teams: ReadonlyMap<TeamName, Team>;
  readonly importedHistories: ReadonlyMap<string, RecordedHistory>;
}

/** The user in the team, the team, and every team above. */
export function usageKeysOf({ teams }: Pick<PastState, "teams">, team: TeamName, actor: string): readonly string[] {
  const keys = [usageKey(team, actor)];
  for (let at: TeamName | null = team; at !== null; at = teams.get(at)?.parent ?? null) keys.push(usageKey(at));
  return keys;
}

/** The part of a use before the import: clocks of clusters differ, and nothing of the future has been used. */
const before = (use: ImportedUse, importedAtMs: number): readonly ImportedUse[] => {
  const toMs = Math.min(use.toMs, importedAtMs);
  if (use.fromMs >= toMs) return [];
  const part = (toMs - use.fromMs) / (use.toMs - use.fromMs);
  return [toMs === use.toMs ? use : { ...use, toMs, acceleratorMs: Math.floor(use.acceleratorMs * part) }];
};

/** Averages by key, each as of the end of its last use. */
export function importedUsage(state: PastState, halfLife: HalfLife): ReadonlyMap<string, DecayedUsage> {
  const usesByKey = new Map<string, ImportedUse[]>();
  for (const { uses, importedAtMs } of state.importedHistories.values())
    for (const use of uses.flatMap((each) => before(each, importedAtMs)))
      for (const key of usageKeysOf(state, use.team, use.actor)) {
        const known = usesByKey.get(key);
        if (known === undefined) usesByKey.set(key, [use]);
        else known.push(use);
      }
  return new Map([...usesByKey].map(([key, uses]) => [key, averageOf(uses, halfLife)]));
}

/** Piecewise constant rates: the uses that hold between two instants count together. */
function averageOf(uses: readonly ImportedUse[], halfLife: HalfLife): DecayedUsage {
  const changes = new Map<number, number>();
  const add = (atMs: number, milli: number): void => void changes.set(atMs, (changes.get(atMs) ?? 0) + milli);
  for (const { fromMs, toMs, acceleratorMs } of uses) {
    const milli = Math.floor((acceleratorMs / (toMs - fromMs)) * 1_000);
    add(fromMs, milli);
    add(toMs, -milli);
  }
  const [first, ...others] = [...changes].toSorted(([one], [other]) => one - other);
  let [use, held] = [freshUse(first?.[0] ?? 0), first?.[1] ?? 0];
  for (const [atMs, milli] of others) {
    use = useAsOf(use, halfLife, { rate: [0, 0, held], nowMs: atMs });
    held += milli;
  }
  return use;
}
