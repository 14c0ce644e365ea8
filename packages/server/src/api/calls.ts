/** The shape of handlers: requests that have passed validation, answers by their schema, and commands on their behalf. */
import type { Engine } from "@headroom/engine";
import type { CommandResult } from "@headroom/model";
import { ProblemError } from "@headroom/protocol";
import type { OperationName, operations } from "@headroom/protocol";
import { rejectionProblem } from "@headroom/views";
import type { z } from "zod";
import type { Principal } from "../auth/authorize.ts";
import type { CommandRequest } from "../driver/driver.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { StreamPiece, StreamWanted } from "./stream-reply.ts";

type Operations = typeof operations;
type BodyOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type StreamName = {
  [Name in OperationName]: Operations[Name]["stream"] extends true ? Name : never;
}[OperationName];
type AnswerName = Exclude<OperationName, StreamName>;

/** A request that has passed validation. */
export interface Call<Name extends OperationName> {
  readonly params: z.output<Operations[Name]["params"]>;
  readonly query: z.output<Operations[Name]["query"]>;
  readonly body: BodyOf<Operations[Name]["body"]>;
  readonly actor: string;
  readonly principal: Principal;
  readonly idempotencyKey: string | null;
}

/**
 * Type of the answer by its schema, with read-only lists in pages, so that a handler need not copy the list that it
 * returns.
 */
export type Answer<Name extends OperationName> = WithReadonlyItems<z.output<Operations[Name]["response"]>>;
type WithReadonlyItems<T> = T extends { items: (infer Item)[] }
  ? Omit<T, "items"> & { readonly items: readonly Item[] }
  : T;

/** Returns a signal that aborts when the client disconnects, for expensive work. */
export type Gone = () => AbortSignal;

export type Handlers = {
  readonly [Name in AnswerName]: (
    plane: ControlPlane,
    call: Call<Name>,
    gone: Gone,
  ) => Promise<Answer<Name>> | Answer<Name>;
};

/** Handlers of streams. They throw refusals before the stream begins, so that a refusal gets its own status. */
export type StreamHandlers = {
  readonly [Name in StreamName]: (
    plane: ControlPlane,
    call: Call<Name>,
    wanted: StreamWanted,
  ) => Promise<AsyncIterable<StreamPiece>>;
};

type Caller = Pick<Call<OperationName>, "actor" | "idempotencyKey">;
type Wanted = CommandRequest extends infer Request
  ? Request extends CommandRequest
    ? Omit<Request, "actor" | "idempotencyKey">
    : never
  : never;

/** Reads from the engine. Throws `missing` if the query returns `null`. */
export async function found<T>(
  plane: ControlPlane,
  query: (engine: Engine) => T | null,
  missing: ProblemError,
): Promise<T> {
  const value = await plane.driver.read(query);
  if (value === null) throw missing;
  return value;
}

/** Sends a command and returns its result. Throws if the engine refuses the command. */
export async function command<Kind extends CommandResult["kind"]>(
  { driver }: ControlPlane,
  { actor, idempotencyKey }: Caller,
  wanted: Wanted,
  kind: Kind,
): Promise<CommandResult & { readonly kind: Kind }> {
  const reply = await driver.command({ ...wanted, actor, idempotencyKey });
  if (reply.kind === "rejected") throw new ProblemError(rejectionProblem(reply.rejection));
  if (reply.result.kind !== kind)
    throw new Error(`the command ${wanted.kind} got a reply of kind ${reply.result.kind}`);
  return reply.result as CommandResult & { readonly kind: Kind };
}
