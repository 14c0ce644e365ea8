import { InvariantError } from "./invariant.ts";

/** Ends every `switch` over a union: the compiler proves that all cases are handled. */
export function unreachable(value: never): never {
  throw new InvariantError(`unexpected value ${JSON.stringify(value)}`);
}
