/**
 * A broken invariant is a bug or a damaged journal. The process stops and recovers by replay; the error is never
 * handled.
 */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/**
 * The message is built even if the condition holds. Code that runs for every event therefore throws the error by
 * itself.
 */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
