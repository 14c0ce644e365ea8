import { InvariantError } from "./invariant.ts";

/** Ends every `switch` over a union: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new InvariantError(`unexpected value ${JSON.stringify(value)}`);
}
