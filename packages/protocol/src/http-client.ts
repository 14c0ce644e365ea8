/** `HeadroomClient` over HTTP: one method for each row of the operations table. */
import type { Abort, CallOptions, CommandOptions, HeadroomClient } from "./client.ts";
import { Http, type Call, type HttpClientOptions } from "./http.ts";
import { operations, type Operation } from "./operations.ts";
import { checkedUser } from "./user.ts";

/** The request that the arguments of a method state. `client.ts` describes their order. */
function callOf(operation: Operation, given: readonly unknown[]): Call {
  const names = Array.from(operation.path.matchAll(/\{(?<name>\w+)\}/g), ({ groups }) => groups?.["name"] ?? "");
  const params = Object.fromEntries(names.map((name, index) => [name, String(given[index])]));
  const rest = given.slice(names.length);
  const body = operation.body === null ? {} : { body: rest.shift() };
  const hasQuery = Object.keys(operation.query.shape).length > 0;
  const hasQueryArgument = operation.method === "GET" && !operation.stream && hasQuery;
  const queryArgument = hasQueryArgument ? rest.shift() : undefined;
  const { signal, idempotencyKey, ...query } = (rest[0] ?? {}) as CallOptions & CommandOptions & Call["query"];
  return {
    params,
    ...body,
    query: hasQueryArgument ? { ...(queryArgument as Call["query"]) } : query,
    options: { signal, idempotencyKey },
  };
}

/** Calls any row of the operations table, for clients that are derived from the table. Streams and bytes are not possible. */
export type OperationCaller = (
  operation: Operation,
  call: Pick<Call, "params" | "query" | "body"> & { readonly signal?: Abort },
) => Promise<unknown>;

export function createOperationCaller(options: HttpClientOptions): OperationCaller {
  if (options.user !== undefined) checkedUser(options.user);
  const http = new Http(options);
  return (operation, { signal, ...call }) => http.call(operation, { ...call, options: { signal } });
}

/**
 * Client of the control plane at `baseUrl`. Throws if `user` is not a valid user name, because the header could then
 * name another user.
 */
export function createHttpClient(options: HttpClientOptions): HeadroomClient {
  if (options.user !== undefined) checkedUser(options.user);
  const http = new Http(options);
  const method =
    (operation: Operation) =>
    (...given: readonly unknown[]) => {
      const call = callOf(operation, given);
      if (operation.stream) return http.stream(operation, call);
      return operation.bytes ? http.snapshot(call) : http.call(operation, call);
    };
  const methods = Object.entries<Operation>(operations).map(([name, operation]) => [name, method(operation)]);
  return Object.fromEntries(methods) as HeadroomClient;
}
