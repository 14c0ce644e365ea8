/** The shape of a row of the operations table, and its defaults. */
import { z } from "zod";
import type { Permission } from "./permissions.ts";
import type { ProblemCode } from "./problems.ts";

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * The resources that an operation reads or changes, for the decision who may perform it. `fleet`: the whole control plane;
 * a role on some teams is not enough. `any`: nothing that belongs to a team. `teams`: the answer has only what the reader
 * may see. `workload`, `team`, `schedule`, `artifact`: the one in the path. `exec`: a session of the caller. `body`: the team in the
 * body. `documents`: each document in the body. `proposal`: the
 * one in the path. `pipeline`, `pipelineRun`: the one in the path. `pipelineRuns`: new runs of the pipeline in the path. `proposed`: what the change in the body is about. `token`: tokens of teams that the caller administers.
 */
export type OperationSubject =
  | "fleet"
  | "any"
  | "teams"
  | "workload"
  | "artifact"
  | "team"
  | "schedule"
  | "exec"
  | "body"
  | "documents"
  | "proposal"
  | "proposed"
  | "pipeline"
  | "pipelineRuns"
  | "pipelineRun"
  | "token";

export interface Operation {
  readonly method: HttpMethod;
  /** Path with parameters in braces, as in OpenAPI: `/v1/workloads/{id}`. */
  readonly path: string;
  readonly tag: string;
  /** Permission that the principal needs. */
  readonly permission: Permission;
  readonly subject: OperationSubject;
  /** Additional permissions for parts of the body. They are needed if the part is true, or a list that is not empty. */
  readonly partPermissions: Readonly<Record<string, Permission>>;
  readonly summary: string;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  /** Schema of the body; `null`: the request has no body. */
  readonly body: z.ZodType | null;
  readonly status: 200 | 201 | 202;
  /** Schema of one item if `stream` is true, or else of the whole answer. */
  readonly response: z.ZodType;
  /** True: the answer is a stream of NDJSON, or of server-sent events if the client accepts only those. */
  readonly stream: boolean;
  /** True: the answer is `application/octet-stream`, and the fields of `response` other than `bytes` are headers. */
  readonly bytes: boolean;
  /** Problems of this route in addition to `commonProblems`. */
  readonly problems: readonly ProblemCode[];
}

/** The schema of parameters or a query without fields. */
export const nothing = z.strictObject({});

interface OperationShape {
  readonly permission: Permission;
  /** Default `fleet`, so that a new operation is closed to roles on teams until somebody decides otherwise. */
  readonly subject?: OperationSubject;
  readonly partPermissions?: Readonly<Record<string, Permission>>;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly status?: 200 | 201 | 202;
  readonly stream?: boolean;
  readonly bytes?: boolean;
  readonly problems?: readonly ProblemCode[];
}

type Route = `${HttpMethod} /${string}`;
type MethodOf<R extends Route> = R extends `${infer Method extends HttpMethod} ${string}` ? Method : never;
type PathOf<R extends Route> = R extends `${HttpMethod} ${infer Path}` ? Path : never;

/** `route`: method and path. */
export function operation<const R extends Route, Response extends z.ZodType, const Given extends OperationShape>(
  route: R,
  summary: string,
  response: Response,
  given: Given,
): Omit<Operation, "method" | "path" | "stream" | "response" | "params" | "query" | "body"> & {
  readonly method: MethodOf<R>;
  readonly path: PathOf<R>;
  readonly stream: Given extends { stream: true } ? true : false;
  readonly response: Response;
  readonly params: Given extends { params: infer P } ? P : typeof nothing;
  readonly query: Given extends { query: infer Q } ? Q : typeof nothing;
  readonly body: Given extends { body: infer B } ? B : null;
} {
  const [method, path] = route.split(" ") as [HttpMethod, string];
  const filled = {
    method,
    path,
    tag: path.split("/")[2] ?? "",
    permission: given.permission,
    subject: given.subject ?? "fleet",
    partPermissions: given.partPermissions ?? {},
    summary,
    params: given.params ?? nothing,
    query: given.query ?? nothing,
    body: given.body ?? null,
    status: given.status ?? 200,
    response,
    stream: given.stream ?? false,
    bytes: given.bytes ?? false,
    problems: given.problems ?? [],
  };
  return filled as ReturnType<typeof operation<R, Response, Given>>;
}
