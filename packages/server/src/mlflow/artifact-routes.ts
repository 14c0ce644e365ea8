/** Routes of MLflow's artifact proxy, and the list of a run's artifacts. */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { proxiedPath } from "./artifact-path.ts";
import { refuseRuled } from "./artifact-rules.ts";
import { Fields } from "./fields.ts";
import { invalid, MlflowError } from "./mlflow-error.ts";
import { jsonReply, MLFLOW_OPERATION, mlflowErrorHandler } from "./mlflow-routes.ts";
import type { MlflowParts } from "./mlflow-routes.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import { pageToken } from "./page.ts";

const PREFIX = "/api/2.0/mlflow-artifacts";
const LISTS = ["/api/2.0/mlflow/artifacts/list", "/api/2.0/preview/mlflow/artifacts/list"];
const reading = { operation: MLFLOW_OPERATION, access: "mlflow.read" } as const;
const writing = { operation: MLFLOW_OPERATION, access: "mlflow.write" } as const;

export function addMlflowArtifactRoutes(app: FastifyInstance, plane: MlflowParts): void {
  // A scope of its own: here bodies are files of any type, and only here are they not limited as JSON is.
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, payload, parsed) => parsed(null, payload));
    addRoutes(scope, plane);
    done();
  });
}

function addRoutes(scope: FastifyInstance, plane: MlflowParts): void {
  const errorHandler = mlflowErrorHandler(plane);
  const onRead = { config: reading, errorHandler, exposeHeadRoute: false };
  const onWrite = { config: writing, errorHandler };
  for (const url of LISTS) scope.get(url, onRead, (request, reply) => listRun(plane, request, reply));
  scope.get(`${PREFIX}/artifacts`, onRead, (request, reply) => list(plane, request, reply));
  scope.get(`${PREFIX}/artifacts/*`, onRead, (request, reply) => download(plane, request, reply));
  scope.put(`${PREFIX}/artifacts/*`, onWrite, async (request, reply) => {
    const body = request.body instanceof Readable ? request.body : null;
    await refuseRuled(plane, { artifact: pathOf(request), user: request.principal.actor, does: "stored" });
    await plane.mlflow.artifacts.write(pathOf(request), body, Number(request.headers["content-length"] ?? 0));
    return reply.headers(jsonReply).send("{}");
  });
  scope.delete(`${PREFIX}/artifacts/*`, onWrite, async (request, reply) => {
    await plane.mlflow.artifacts.remove(pathOf(request));
    return reply.headers(jsonReply).send("{}");
  });
  const config = { operation: MLFLOW_OPERATION, access: "authenticated" } as const;
  scope.all(`${PREFIX}/*`, { config, errorHandler }, (request) => {
    throw new MlflowError("ENDPOINT_NOT_FOUND", `There is no ${request.method} call at this path.`);
  });
}

const pathOf = ({ params }: FastifyRequest): string => (params as { readonly "*": string })["*"];

/** Names in the answer are relative to the listed folder. */
async function list({ mlflow }: MlflowParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const fields = new Fields(request.query, "query");
  return sendEntries(reply, await mlflow.artifacts.list(fields.text("path") ?? "", fields.offset()), "", {});
}

/** Names in the answer are relative to the run's folder. */
async function listRun({ mlflow }: MlflowParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const fields = new Fields(request.query, "query");
  const { actor } = request.principal;
  const answer = await mlflow.call({ call: "artifactRoot", values: request.query, source: "query", user: actor });
  if (answer.status !== 200) return reply.code(answer.status).headers(jsonReply).send(answer.body);
  const { uri } = JSON.parse(answer.body) as { readonly uri: string };
  const root = proxiedPath(uri);
  if (root === null)
    throw invalid("The artifacts of this run are in another store, which the control plane does not read.");
  const folder = (fields.text("path") ?? "").replace(/\/+$/, "");
  const entries = await mlflow.artifacts.list(folder === "" ? root : `${root}/${folder}`, fields.offset());
  return sendEntries(reply, entries, folder === "" ? "" : `${folder}/`, { root_uri: uri });
}

type Listed = Awaited<ReturnType<ArtifactStore["list"]>>;

function sendEntries(reply: FastifyReply, { files, next }: Listed, prefix: string, more: object): FastifyReply {
  const named = files.map((file) => ({ ...file, path: prefix + file.path }));
  const token = next === null ? {} : { next_page_token: pageToken(next) };
  return reply.headers(jsonReply).send(JSON.stringify({ ...more, files: named, ...token }));
}

async function download(plane: MlflowParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  await refuseRuled(plane, { artifact: pathOf(request), user: request.principal.actor, does: "given out" });
  const { handle, name, size } = await plane.mlflow.artifacts.open(pathOf(request));
  // A file can grow while it is sent. The answer has the bytes that it announced.
  const bytes = size === 0 ? Readable.from([]) : handle.createReadStream({ start: 0, end: size - 1 });
  if (size === 0) await handle.close();
  return reply
    .headers({
      "content-type": "application/octet-stream",
      "content-length": String(size),
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    })
    .send(bytes);
}
