/** A broken invariant: a bug or a damaged journal. The process stops and recovers by replay; it is never handled. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** The message is put together even where the condition holds: what is done for every event of a run throws by itself. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
