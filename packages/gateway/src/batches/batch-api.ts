/** `/v1/files` and `/v1/batches`: OpenAI's Batch API over this gateway's own models. */
import type { Caller } from "../access/teams.ts";
import type { ApiError } from "../protocols/api-error.ts";
import { isBatchPath } from "../protocols/endpoints.ts";
import type { Answer } from "../protocols/read-requests.ts";
import type { BatchRunner } from "./runner.ts";
import { formIn } from "./form.ts";
import { pageOf } from "./page.ts";
import type { BatchStore } from "./store.ts";

export interface BatchRequest {
  readonly method: string;
  readonly path: string;
  /** Query of the URL, without its question mark. */
  readonly query: string;
  readonly contentType: string;
  readonly body: Buffer;
  readonly caller: Caller;
  /** Data rules of the request, which the lines of a batch keep. */
  readonly dataRules: readonly string[];
  readonly nowMs: number;
}

/** The content of a file, to be sent in blocks. */
export interface FileContent {
  readonly file: string;
}

type BatchAnswer = Answer | FileContent | ApiError;

/** OpenAI's limits for `metadata`. */
const METADATA_KEYS_MAX = 16;
const METADATA_KEY_MAX = 64;
const METADATA_VALUE_MAX = 512;

/** Size of a request for a batch with all its metadata. */
const CREATE_BYTES_MAX = 65_536;
const PURPOSE_BYTES_MAX = 64;

const tooManyFiles = "The team has too many files: delete some. Each batch in progress needs two for its answers.";

export class BatchApi {
  readonly #store: BatchStore;
  readonly #runner: BatchRunner;

  constructor(store: BatchStore, runner: BatchRunner) {
    this.#store = store;
    this.#runner = runner;
  }

  /** Answers a request. Undefined if the path does not belong to the Batch API. */
  answer(request: BatchRequest): Promise<BatchAnswer> | undefined {
    const { path } = request;
    const file = /^\/v1\/files(?:\/([^/]+)(\/content)?)?$/.exec(path);
    if (file !== null) return this.#file(request, file[1], file[2] !== undefined);
    const batch = /^\/v1\/batches(?:\/([^/]+)(\/cancel)?)?$/.exec(path);
    return batch === null ? undefined : this.#batch(request, batch[1], batch[2] !== undefined);
  }

  async #file(request: BatchRequest, id: string | undefined, wantsContent: boolean): Promise<BatchAnswer> {
    const { method, caller } = request;
    if (id === undefined) {
      if (method === "GET") return this.#files(request);
      return method === "POST" ? this.#upload(request) : notAllowed(request);
    }
    const stored = await this.#store.file(caller.team, id);
    if (stored === undefined) return { kind: "notFound", message: "There is no such file." };
    if (wantsContent)
      return method === "GET" ? { file: this.#store.contentPath(caller.team, id) } : notAllowed(request);
    if (method === "GET") return ok(stored);
    if (method !== "DELETE") return notAllowed(request);
    await this.#store.deleteFile(caller.team, id);
    return ok({ id, object: "file", deleted: true });
  }

  async #files({ caller, query }: BatchRequest): Promise<Answer | ApiError> {
    const purpose = new URLSearchParams(query).get("purpose");
    const files = await this.#store.files(caller.team);
    return pageOf(purpose === null ? files : files.filter((file) => file.purpose === purpose), query);
  }

  async #upload({ contentType, body, caller, nowMs }: BatchRequest): Promise<Answer | ApiError> {
    const form = formIn(body, contentType);
    if (form === undefined) return { kind: "badRequest", message: "The body is not multipart/form-data." };
    const file = form.get("file");
    const purpose = form.get("purpose");
    if (file?.filename === undefined || purpose === undefined || purpose.filename !== undefined) {
      return { kind: "badRequest", message: "The form needs the fields `file` and `purpose`." };
    }
    const { filename, content } = file;
    const entry = { filename, purpose: purpose.content.toString("utf8", 0, PURPOSE_BYTES_MAX), content, nowMs };
    const stored = await this.#store.addFile(caller.team, entry);
    if (stored === "tooMany") return { kind: "badRequest", message: tooManyFiles };
    if (stored !== "storageFull") return ok(stored);
    const message = `The files of a team may take ${this.#store.storageMax} bytes, and there is no room for this one: delete some.`;
    return { kind: "tooLarge", message };
  }

  async #batch(request: BatchRequest, id: string | undefined, isCancel: boolean): Promise<Answer | ApiError> {
    const { method, caller } = request;
    if (id === undefined) {
      if (method === "GET") return pageOf(await this.#store.batches(caller.team), request.query);
      return method === "POST" ? this.#create(request) : notAllowed(request);
    }
    const batch = await this.#store.batch(caller.team, id);
    if (batch === undefined) return { kind: "notFound", message: "There is no such batch." };
    if (isCancel) return method === "POST" ? ok(await this.#runner.cancel(caller.team, batch)) : notAllowed(request);
    return method === "GET" ? ok(batch) : notAllowed(request);
  }

  async #create({ body, caller, dataRules, nowMs }: BatchRequest): Promise<Answer | ApiError> {
    if (body.length > CREATE_BYTES_MAX)
      return { kind: "badRequest", message: `The request is larger than ${CREATE_BYTES_MAX} bytes.` };
    let input: { input_file_id?: unknown; endpoint?: unknown; completion_window?: unknown; metadata?: unknown };
    try {
      input = (JSON.parse(body.toString("utf8")) ?? {}) as typeof input;
    } catch {
      return { kind: "badRequest", message: "The body is not valid JSON." };
    }
    const { input_file_id: inputFileId, endpoint, metadata } = input;
    if (typeof inputFileId !== "string" || (await this.#store.file(caller.team, inputFileId)) === undefined) {
      return { kind: "badRequest", message: "`input_file_id` names no file of this team." };
    }
    if (typeof endpoint !== "string" || !isBatchPath(endpoint)) {
      return { kind: "badRequest", message: "`endpoint` must be a path such as /v1/chat/completions." };
    }
    if (!isMetadata(metadata)) {
      const message = `\`metadata\` takes at most ${METADATA_KEYS_MAX} texts of ${METADATA_VALUE_MAX} characters, with keys of ${METADATA_KEY_MAX}.`;
      return { kind: "badRequest", message };
    }
    const entry = { endpoint, inputFileId, window: "24h", metadata, dataRules, nowMs };
    const batch = await this.#store.addBatch(caller.team, entry);
    if (batch === "tooManyFiles") return { kind: "badRequest", message: tooManyFiles };
    if (batch === "tooManyBatches")
      return { kind: "badRequest", message: "The team has too many batches in progress." };
    this.#runner.start(caller.team, batch);
    return ok(batch);
  }
}

function isMetadata(metadata: unknown): boolean {
  if (metadata === undefined || metadata === null) return true;
  if (typeof metadata !== "object" || Array.isArray(metadata)) return false;
  const entries = Object.entries(metadata);
  const isShort = ([key, value]: readonly [string, unknown]): boolean =>
    key.length <= METADATA_KEY_MAX && typeof value === "string" && value.length <= METADATA_VALUE_MAX;
  return entries.length <= METADATA_KEYS_MAX && entries.every(isShort);
}

function ok(body: object): Answer {
  return { status: 200, body: JSON.stringify(body) };
}

function notAllowed({ method, path }: BatchRequest): ApiError {
  return { kind: "methodNotAllowed", message: `${path} does not take ${method}.` };
}
