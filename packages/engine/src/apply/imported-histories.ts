/** Imported past work. Its use is read from `state.importedHistories`; its run times are kept beside those of own work. */
import { importedRunTimes } from "../usage/imported-run-times.ts";
import { importedKind, isImportedKind, predictsRuns } from "../usage/run-times.ts";
import type { WritableWorld } from "./writable.ts";

/** `change`: sets or removes the history of an executor. */
export function changeHistory(world: WritableWorld, change: () => unknown): void {
  const { state, decayedUsage, queue } = world;
  const before = state.importedHistories.size;
  change();
  if (before + state.importedHistories.size === 0) return;
  foldImportedRuns(world);
  decayedUsage.forgetImported();
  queue.markDirty();
}

/** After a team was removed: the teams above no longer have its imported use. */
export function forgetImportedUse({ state, decayedUsage, queue }: WritableWorld): void {
  if (state.importedHistories.size === 0) return;
  decayedUsage.forgetImported();
  queue.markDirty();
}

/** Brings the run times of imported work up to date with the histories, if the policy predicts run times. */
export function foldImportedRuns(world: WritableWorld): void {
  const { state, rules, queue } = world;
  const { runTimes } = state;
  const changed: string[] = [];
  for (const key of Array.from(runTimes.keys())) {
    if (!isImportedKind(key)) continue;
    runTimes.delete(key);
    changed.push(key.slice(importedKind("").length));
  }
  if (predictsRuns(rules))
    for (const [kind, tookMs] of importedRunTimes(state.importedHistories.values())) {
      runTimes.set(importedKind(kind), tookMs);
      changed.push(kind);
    }
  queue.predictAnew(changed);
}
