/** The thread that has the database, so that a search or a sync of the disk never delays scheduling. */
import { parentPort, workerData } from "node:worker_threads";
import { Fields } from "./fields.ts";
import { mlflowHandlers } from "./handlers.ts";
import { MlflowDatabase } from "./mlflow-database.ts";
import { errorBody, MlflowError } from "./mlflow-error.ts";
import type { AttemptPoints } from "./run-data.ts";
import type { MlflowAnswer, MlflowRequest, MlflowThreadData } from "./mlflow-messages.ts";

const { file, nowMs } = workerData as MlflowThreadData;
const database = new MlflowDatabase(file, nowMs);
/** Points that the present call logged for an attempt. */
let logged: AttemptPoints | null = null;
const handlers = mlflowHandlers(database, (points) => {
  logged = points;
});

function answer({ call, values, source, context }: MlflowRequest & { readonly kind: "call" }): MlflowAnswer {
  try {
    logged = null;
    const body = JSON.stringify(handlers[call](new Fields(values, source), context));
    return { status: 200, body, logged };
  } catch (error) {
    if (error instanceof MlflowError) return { status: error.status, body: errorBody(error.code, error.message) };
    const detail = "This is a bug in Headroom. The control plane's log has the details; the request changed nothing.";
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { status: 500, body: errorBody("INTERNAL_ERROR", detail), problem };
  }
}

parentPort?.on("message", (request: MlflowRequest) => {
  if (request.kind === "call") return parentPort?.postMessage(answer(request));
  database.close();
  parentPort?.postMessage({ status: 200, body: "" } satisfies MlflowAnswer);
  parentPort?.close();
});
