/** `/v1/files` and `/v1/batches`: OpenAI's Batch API over this gateway's own models. */
import { readFileSync } from "node:fs";
import type { Caller } from "../access/teams.ts";
import type { ApiError } from "../protocols/api-error.ts";
import { endpointAt } from "../protocols/endpoints.ts";
import type { Answer } from "../protocols/read-requests.ts";
import type { BatchRunner } from "./runner.ts";
import type { BatchStore } from "./store.ts";

export interface BatchRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
  readonly caller: Caller;
  readonly nowMs: number;
}

const LIST_MAX = 100;

export class BatchApi {
  readonly #store: BatchStore;
  readonly #runner: BatchRunner;

  constructor(store: BatchStore, runner: BatchRunner) {
    this.#store = store;
    this.#runner = runner;
  }

  /** Undefined if the path does not belong to the Batch API. */
  answer(request: BatchRequest): Promise<Answer | ApiError> | undefined {
    const { path } = request;
    const file = /^\/v1\/files(?:\/([^/]+)(\/content)?)?$/.exec(path);
    if (file !== null) return this.#file(request, file[1], file[2] !== undefined);
    const batch = /^\/v1\/batches(?:\/([^/]+)(\/cancel)?)?$/.exec(path);
    return batch === null ? undefined : this.#batch(request, batch[1], batch[2] !== undefined);
  }

  async #file(request: BatchRequest, id: string | undefined, wantsContent: boolean): Promise<Answer | ApiError> {
    const { method, caller } = request;
    if (id === undefined) {
      if (method === "GET")
        return ok({ object: "list", data: this.#store.files(caller.team).slice(0, LIST_MAX), has_more: false });
      return method === "POST" ? this.#upload(request) : notAllowed(request);
    }
    const stored = this.#store.file(caller.team, id);
    if (stored === undefined) return { kind: "notFound", message: "There is no such file." };
    if (wantsContent) return { status: 200, body: readFileSync(this.#store.contentPath(caller.team, id), "utf8") };
    if (method === "GET") return ok(stored);
    if (method !== "DELETE") return notAllowed(request);
    this.#store.deleteFile(caller.team, id);
    return ok({ id, object: "file", deleted: true });
  }

  async #upload({ contentType, body, caller, nowMs }: BatchRequest): Promise<Answer | ApiError> {
    let form: FormData;
    try {
      form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
    } catch {
      return { kind: "badRequest", message: "The body is not multipart/form-data." };
    }
    const file = form.get("file");
    const purpose = form.get("purpose");
    if (!(file instanceof File) || typeof purpose !== "string") {
      return { kind: "badRequest", message: "The form needs the fields `file` and `purpose`." };
    }
    const content = Buffer.from(await file.arrayBuffer());
    const stored = this.#store.addFile(caller.team, { filename: file.name, purpose, content, nowMs });
    return stored === undefined
      ? { kind: "badRequest", message: "The team has too many files: delete some." }
      : ok(stored);
  }

  async #batch(request: BatchRequest, id: string | undefined, isCancel: boolean): Promise<Answer | ApiError> {
    const { method, caller } = request;
    if (id === undefined) {
      if (method === "GET")
        return ok({ object: "list", data: this.#store.batches(caller.team).slice(0, LIST_MAX), has_more: false });
      return method === "POST" ? this.#create(request) : notAllowed(request);
    }
    const batch = this.#store.batch(caller.team, id);
    if (batch === undefined) return { kind: "notFound", message: "There is no such batch." };
    if (isCancel) return method === "POST" ? ok(this.#runner.cancel(caller.team, batch)) : notAllowed(request);
    return method === "GET" ? ok(batch) : notAllowed(request);
  }

  #create({ body, caller, nowMs }: BatchRequest): Answer | ApiError {
    let input: { input_file_id?: unknown; endpoint?: unknown; completion_window?: unknown; metadata?: unknown };
    try {
      input = (JSON.parse(body.toString("utf8")) ?? {}) as typeof input;
    } catch {
      return { kind: "badRequest", message: "The body is not valid JSON." };
    }
    const { input_file_id: inputFileId, endpoint, metadata } = input;
    if (typeof inputFileId !== "string" || this.#store.file(caller.team, inputFileId) === undefined) {
      return { kind: "badRequest", message: "`input_file_id` names no file of this team." };
    }
    if (typeof endpoint !== "string" || endpointAt(endpoint) === undefined) {
      return { kind: "badRequest", message: "`endpoint` must be a path such as /v1/chat/completions." };
    }
    const batch = this.#store.addBatch(caller.team, { endpoint, inputFileId, window: "24h", metadata, nowMs });
    if (batch === undefined) return { kind: "badRequest", message: "The team has too many batches." };
    this.#runner.start(caller.team, batch);
    return ok(batch);
  }
}

function ok(body: object): Answer {
  return { status: 200, body: JSON.stringify(body) };
}

function notAllowed({ method, path }: BatchRequest): ApiError {
  return { kind: "methodNotAllowed", message: `${path} does not take ${method}.` };
}
