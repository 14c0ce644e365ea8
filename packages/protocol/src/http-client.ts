/** `HeadroomClient` over HTTP: one method for each row of the operations table. */
import { argumentsOf } from "./call-arguments.ts";
import type { Abort, CommandOptions, HeadroomClient } from "./client.ts";
import { Http, type Call, type HttpClientOptions } from "./http.ts";
import { operations, type Operation } from "./operations.ts";
import { checkedUser } from "./user.ts";

/** The request that the arguments of a method state. Options that the operation does not have are left out. */
function callOf(operation: Operation, given: readonly unknown[]): Call {
  const { parameters, hasQueryArgument, optionsAt } = argumentsOf(operation);
  const params = Object.fromEntries(parameters.map((name, index) => [name, String(given[index])]));
  const options = (given[optionsAt] ?? {}) as CommandOptions & Readonly<Record<string, unknown>>;
  const query = ((hasQueryArgument ? given[optionsAt - 1] : options) ?? {}) as NonNullable<Call["query"]>;
  const named = Object.keys(operation.query.shape).map((name) => [name, query[name]] as const);
  return {
    params,
    query: hasQueryArgument ? query : Object.fromEntries(named),
    ...(operation.body === null ? {} : { body: given[parameters.length] }),
    options: { signal: options.signal, idempotencyKey: options.idempotencyKey },
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
