/** The order of the arguments of a client's method, which follows from the row of its operation (`client.ts`). */
import type { Operation } from "./operation.ts";

interface CallArguments {
  /** Names of the path's parameters, which come first. */
  readonly parameters: readonly string[];
  /** Whether the query is an argument of its own. Otherwise its fields are among the options. */
  readonly hasQueryArgument: boolean;
  /** Position of the options, which are last. */
  readonly optionsAt: number;
}

export function argumentsOf({ path, method, stream, query, body }: Operation): CallArguments {
  const parameters = Array.from(path.matchAll(/\{(?<name>\w+)\}/g), ({ groups }) => groups?.["name"] ?? "");
  const hasQueryArgument = method === "GET" && !stream && Object.keys(query.shape).length > 0;
  const optionsAt = parameters.length + (body === null ? 0 : 1) + (hasQueryArgument ? 1 : 0);
  return { parameters, hasQueryArgument, optionsAt };
}
