/** Run times of imported work, by the same kinds as those of own work. They count where own work has too few runs. */
import type { ImportedHistory, PastRun } from "@headroom/model";
import { RUNS_KEPT, kindsOfWork } from "./run-times.ts";

/** Kinds of imported work that are kept; own kinds have the rest of the table. */
const IMPORTED_KINDS_MAX = 4_000;

/** The last runs of each kind, in the order of their ends. */
export function importedRunTimes(histories: Iterable<ImportedHistory>): ReadonlyMap<string, readonly number[]> {
  const runs: PastRun[] = [];
  for (const history of histories) runs.push(...history.runs);
  const endOf = ({ submittedAtMs, tookMs }: PastRun): number => submittedAtMs + tookMs;
  const byKind = new Map<string, number[]>();
  for (const run of runs.toSorted((left, right) => endOf(right) - endOf(left)))
    for (const kind of kindsOfWork(run)) {
      const known = byKind.get(kind);
      if (known !== undefined) known.push(run.tookMs);
      else if (byKind.size < IMPORTED_KINDS_MAX) byKind.set(kind, [run.tookMs]);
    }
  return new Map([...byKind].map(([kind, tookMs]) => [kind, tookMs.slice(0, RUNS_KEPT).toReversed()]));
}
