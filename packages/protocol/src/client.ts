/**
 * The interface by which console, CLI and tests use a control plane: a method for each row of the operations table,
 * with the types of its schemas. It has two transports: HTTP (`http-client.ts`) and messages to a worker
 * (`worker-client.ts`), so the console does not know whether the fleet is live or simulated. A refusal is thrown as
 * `ProblemError`; an aborted call throws the signal's reason.
 *
 * The arguments of a method are the parameters of the path in their order, the body if the request has one, the query of
 * a `GET` that has one, and options. Queries of other methods, such as `dryRun`, are among the options, and a stream has
 * one last argument for its query and its signal.
 */
import type { z } from "zod";
import type { OperationName, operations } from "./operations.ts";
import type { logQuery, workloadQuery } from "./operation-queries.ts";
import type { PageAnswer, PageRequest } from "./page.ts";

/** The part of the platform's `AbortSignal` that the client uses. */
export interface Abort {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface CallOptions {
  readonly signal?: Abort | undefined;
}

export interface CommandOptions extends CallOptions {
  /**
   * Idempotency key. A retry with the same key gets the first answer again. Absent: the HTTP transport generates a key.
   */
  readonly idempotencyKey?: string | undefined;
}

/**
 * A value of a query. A list is given as its items, which are sent with commas between them, and other structures as
 * their text. The last page has no cursor: `null` is the same as absent.
 */
type QueryValue<Name, Text, Value> = Name extends "cursor"
  ? PageRequest["cursor"]
  : Value extends readonly (infer Item)[]
    ? [Item] extends [string]
      ? Item | readonly Item[]
      : Text
    : Value;

/** The values of a query as a program states them, before they become text. */
type QueryFields<Texts, Values> = string extends keyof Texts
  ? Record<never, never>
  : {
      readonly [Name in keyof Texts]:
        | QueryValue<Name, Texts[Name], Values[Name & keyof Values]>
        | Extract<Texts[Name], undefined>;
    };
export type QueryOf<Schema extends z.ZodType> = QueryFields<z.input<Schema>, z.output<Schema>>;

export type WorkloadQuery = QueryOf<typeof workloadQuery>;
export type LogQuery = QueryOf<typeof logQuery> & CallOptions;
/** The query of an operation. */
export type QueryFor<Name extends OperationName> = QueryOf<(typeof operations)[Name]["query"]>;

/** Names of the parameters in a path such as `/v1/nodes/{id}`, in their order. */
type ParameterNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? [Name, ...ParameterNames<Rest>] : [];

/** One argument for each parameter of the path, in its order. */
type Parameters<Names, Params> = Names extends [infer Name, ...infer Rest]
  ? [parameter: Params[Name & keyof Params], ...Parameters<Rest, Params>]
  : [];

/** An argument that can be left out if none of its fields is required. */
type Argument<Value> = Record<never, never> extends Value ? [argument?: Value] : [argument: Value];

type Row = (typeof operations)[OperationName];
type Body<R extends Row> = R["body"] extends z.ZodType ? [body: z.input<R["body"]>] : [];
type Query<R extends Row> = QueryOf<R["query"]>;

type LastArguments<R extends Row> = R extends { readonly stream: true }
  ? Argument<Query<R> & CallOptions>
  : R extends { readonly method: "GET" }
    ? keyof Query<R> extends never
      ? [options?: CallOptions]
      : [...Argument<Query<R>>, options?: CallOptions]
    : Argument<Query<R> & CommandOptions>;

type Method<R extends Row> = (
  ...given: [...Parameters<ParameterNames<R["path"]>, z.input<R["params"]>>, ...Body<R>, ...LastArguments<R>]
) => R extends { readonly stream: true }
  ? AsyncIterable<z.output<R["response"]>>
  : Promise<PageAnswer<z.output<R["response"]>>>;

export type HeadroomClient = { readonly [Name in keyof typeof operations]: Method<(typeof operations)[Name]> };
