import type { Engine, JournalGroup } from "./ready.ts";

/** A fresh engine with an empty fleet and the default policy. */
export function createEngine(): Engine {
  throw new Error("being written");
}

/** The engine that `snapshot()` gave these bytes; goes on exactly where that one was. */
export function restoreEngine(_snapshot: Uint8Array): Engine {
  throw new Error("being written");
}

/**
 * Folds journal groups (in order, directly after the engine's own sequence) into an engine without deciding anything.
 * Throws `InvariantError` naming the sequence where the chain, the numbering or an event's kind or version is wrong.
 */
export function replayEngine(_engine: Engine, _groups: Iterable<JournalGroup & { readonly atMs: number }>): void {
  throw new Error("being written");
}
