/**
 * Kinds of passage and paths that the phrase check does not look at. The list only becomes shorter. The reasons in
 * `transitions` are recorded in events, and a replay of an older journal must decide the same text.
 */
export const prosePending: readonly string[] = ["message packages/engine/src/transitions"];
