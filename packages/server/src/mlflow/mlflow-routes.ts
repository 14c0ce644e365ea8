/** Routes of MLflow's API. Failures have MLflow's form, those of authentication and of reading the request included. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ControlPlane } from "../api/control-plane.ts";
import { failed } from "../api/failures.ts";
import { rulesOfTags } from "./artifact-rules.ts";
import { mlflowCalls } from "./calls.ts";
import type { MlflowCall, MlflowCallName } from "./calls.ts";
import { codeOfStatus, errorBody, MlflowError } from "./mlflow-error.ts";
import type { MlflowCode } from "./mlflow-error.ts";

/** `preview` is the prefix before MLflow 1.0, which its first examples still use. */
const prefixes = ["/api/2.0/mlflow", "/api/2.0/preview/mlflow"];
/** Name of the operation under which the requests are counted. */
export const MLFLOW_OPERATION = "mlflow";
export const jsonReply = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** Parts of the control plane that the routes use. */
export type MlflowParts = Pick<ControlPlane, "mlflow" | "log" | "driver">;

export function addMlflowRoutes(app: FastifyInstance, plane: MlflowParts): void {
  const errorHandler = mlflowErrorHandler(plane);
  for (const prefix of prefixes) {
    for (const [name, { methods, path, access }] of Object.entries<MlflowCall>(mlflowCalls))
      app.route({
        method: [...methods],
        url: `${prefix}/${path}`,
        config: { operation: MLFLOW_OPERATION, access },
        exposeHeadRoute: false,
        errorHandler,
        handler: (request, reply) => answer(plane, name as MlflowCallName, request, reply),
      });
    app.all(
      `${prefix}/*`,
      { config: { operation: MLFLOW_OPERATION, access: "authenticated" }, errorHandler },
      (request) => {
        throw new MlflowError(
          "ENDPOINT_NOT_FOUND",
          `There is no ${request.method} call at this path. The how-to page on MLflow lists the calls.`,
        );
      },
    );
  }
}

async function answer(
  plane: MlflowParts,
  call: MlflowCallName,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const hasBody = request.body !== undefined && request.body !== null;
  const values = withPathNames(hasBody ? request.body : request.query, request.params);
  const source = hasBody || request.method === "POST" || request.method === "PATCH" ? "body" : "query";
  const rules = await rulesOfTags(plane, values);
  const { status, body } = await plane.mlflow.call({ call, values, source, user: request.principal.actor, rules });
  return reply.code(status).headers(jsonReply).send(body);
}

/** Fields in the path have precedence. Values that are no object are refused where fields are read. */
function withPathNames(values: unknown, names: unknown): unknown {
  const isObject = typeof values === "object" && values !== null && !Array.isArray(values);
  return isObject ? { ...values, ...(names as object) } : values;
}

/** Answers failures in MLflow's form. */
export function mlflowErrorHandler({ log }: Pick<ControlPlane, "log">) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const [status, code, message] = explained(error, request, reply);
    void reply.code(status).headers(jsonReply).send(errorBody(code, message));
  };

  function explained(error: unknown, request: FastifyRequest, reply: FastifyReply): [number, MlflowCode, string] {
    if (error instanceof MlflowError) return [error.status, error.code, error.message];
    const { status, detail } = failed(request, reply, error, log);
    return [status, codeOfStatus(status), detail];
  }
}
