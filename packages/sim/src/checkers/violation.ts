/** The error for a broken invariant of the system under test. */
export class Violation extends Error {
  override readonly name = "Violation";
}

export function mustHold(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new Violation(message());
}
