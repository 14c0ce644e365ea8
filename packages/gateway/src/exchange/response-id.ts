/**
 * Ids of stored responses. A later request names the response that it continues (`previous_response_id`), and only the
 * replica that made the response has it. So the gateway writes the replica's tag into the id that the client gets, and
 * routes by the tag: no table is needed, and every gateway with the same configuration finds the replica.
 */
import { timingSafeEqual } from "node:crypto";
import { MARK_LENGTH, type ResponseOwners } from "../access/response-owners.ts";
import { fieldAtTop } from "../json/peek.ts";
import { TAG_LENGTH, type Replica } from "../replicas/replica.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { ModelRoute } from "./model-route.ts";
import type { ResponseHolder } from "./runtime.ts";
import type { ResponseTarget } from "./target.ts";

const prefix = "resp_hr";
const taggedPattern = new RegExp(`^${prefix}([0-9a-f]{${TAG_LENGTH}})([0-9a-f]{${MARK_LENGTH}})_(.+)$`, "s");

/** The team for which a request is made, and the marks by which its responses are known. */
export interface ResponseTeam {
  readonly team: string;
  readonly owners: ResponseOwners;
}

function taggedId({ team, owners }: ResponseTeam, tag: string, id: string): string {
  return `${prefix}${tag}${owners.markOf(team, tag, id)}_${id}`;
}

/** The replica's tag and own id in an id that this team got. Undefined for every other id. */
function ownIdIn(
  id: string,
  { team, owners }: ResponseTeam,
): { readonly tag: string; readonly id: string } | undefined {
  const [, tag = "", mark = "", own = ""] = taggedPattern.exec(id) ?? [];
  if (tag === "") return undefined;
  const expected = owners.markOf(team, tag, own);
  return timingSafeEqual(Buffer.from(mark), Buffer.from(expected)) ? { tag, id: own } : undefined;
}

/** Whether ids without a tag are taken. With teams, they could be another one's: only clients of no team may name them. */
function takesBareIds({ team }: ResponseTeam): boolean {
  return team === "";
}

/**
 * The replica that holds the response. Undefined if the request names no response, or if the model has only one replica
 * and the id none of the gateway's tags: that replica decides.
 */
export function holderOf(model: ModelRoute, id: string, team: ResponseTeam): ResponseHolder | ApiError | undefined {
  if (id === "") return undefined;
  const own = ownIdIn(id, team);
  let count = 0;
  for (const { pool } of model.routes) {
    for (const replica of pool.replicas.values()) {
      count++;
      if (own !== undefined && replica.tag === own.tag) return { pool, replicaId: replica.id, responseId: own.id };
    }
    if (pool.config.wake !== undefined) count++;
  }
  const isTagged = taggedPattern.test(id);
  if (!isTagged && count <= 1 && takesBareIds(team)) return undefined;
  return {
    kind: "badRequest",
    code: "previous_response_not_found",
    field: "previous_response_id",
    message: !isTagged
      ? `The previous response \`${id.slice(0, 128)}\` was not made through this gateway, so it is not known which replica holds it. Send the conversation as \`input\`.`
      : `No replica of ${model.name} holds the previous response \`${id.slice(0, 128)}\`. Send the conversation as \`input\`.`,
  };
}

export interface StoredResponse {
  readonly model: ModelRoute;
  readonly holder: ResponseHolder;
}

/**
 * The replica that holds the response, and one of the models that it serves. Undefined if the id has none of the tags of
 * these models' replicas, unless there is only one replica: that one decides.
 */
export function storedAt(models: readonly ModelRoute[], id: string, team: ResponseTeam): StoredResponse | undefined {
  const own = ownIdIn(id, team);
  if (own === undefined && (taggedPattern.test(id) || !takesBareIds(team))) return undefined;
  const tag = own?.tag;
  const responseId = own?.id ?? id;
  if (!/^\w/.test(responseId)) return undefined;
  const holders = new Map<Replica, StoredResponse>();
  for (const model of models) {
    for (const { pool } of model.routes) {
      if (!pool.speaks("responses")) continue;
      for (const replica of pool.replicas.values()) {
        const found = { model, holder: { pool, replicaId: replica.id, responseId } };
        if (tag !== undefined && replica.tag === tag) return found;
        if (tag === undefined && holders.size < 2 && !holders.has(replica)) holders.set(replica, found);
      }
    }
  }
  return holders.size === 1 ? holders.values().next().value : undefined;
}

/** Writes the tag of the replica into the ids of a response on its way to the client. */
export class ResponseIdTarget implements ResponseTarget {
  readonly needsWhole = false;
  readonly keepsStream = false;
  readonly #inner: ResponseTarget;
  readonly #servedBy: () => Replica | undefined;
  readonly #team: ResponseTeam;
  /** Ids in quotes with their replacements. The first is that of the response that is continued. */
  readonly #replaced: [from: Buffer, to: Buffer][] = [];
  #isKnown = false;

  constructor(
    inner: ResponseTarget,
    team: ResponseTeam,
    { holder, servedBy }: { holder: ResponseHolder | undefined; servedBy: () => Replica | undefined },
  ) {
    this.#inner = inner;
    this.#team = team;
    this.#servedBy = servedBy;
    const held = holder?.pool.replicas.get(holder.replicaId);
    if (holder !== undefined && held !== undefined) this.#replace(holder.responseId, held.tag);
  }

  respond(status: number, headers: string, body: Buffer): void {
    if (status === 200) this.learn(fieldAtTop(body, "id"));
    this.#inner.respond(status, headers, this.#tagged(body));
  }

  begin(status: number, headers: string, first: Buffer): boolean {
    if (!this.#isKnown) this.learn(fieldAtTop(first, "id") ?? idInEvents(first));
    return this.#inner.begin(status, headers, this.#tagged(first));
  }

  write(bytes: Buffer, raw: Buffer | undefined): boolean {
    if (!this.#isKnown) this.learn(idInEvents(bytes));
    const tagged = this.#tagged(bytes);
    return this.#inner.write(tagged, tagged === bytes ? raw : undefined);
  }

  end(): void {
    this.#inner.end();
  }

  abort(): void {
    this.#inner.abort();
  }

  /** Replaces an id of the replica that serves the request. */
  learn(id: string | undefined): void {
    const { tag } = this.#servedBy() ?? {};
    if (id === undefined || id === "" || tag === undefined) return;
    this.#isKnown = true;
    this.#replace(id, tag);
  }

  #replace(id: string, tag: string): void {
    this.#replaced.push([Buffer.from(JSON.stringify(id)), Buffer.from(JSON.stringify(taggedId(this.#team, tag, id)))]);
  }

  #tagged(bytes: Buffer): Buffer {
    let tagged = bytes;
    for (const [from, to] of this.#replaced) tagged = replacedIn(tagged, from, to);
    return tagged;
  }
}

/** The response's id in the first event that has one. Events of a response hold it as `response`. */
function idInEvents(events: Buffer): string | undefined {
  if (events.indexOf('"response"') < 0) return undefined;
  for (const line of events.toString("utf8").split("\n")) {
    if (!line.startsWith("data:")) continue;
    try {
      const id = (JSON.parse(line.slice(5)) as { readonly response?: { readonly id?: unknown } }).response?.id;
      if (typeof id === "string") return id;
    } catch {
      // An event that is no JSON has no id.
    }
  }
  return undefined;
}

function replacedIn(bytes: Buffer, from: Buffer, to: Buffer): Buffer {
  let found = bytes.indexOf(from);
  if (found < 0) return bytes;
  const parts: Buffer[] = [];
  let at = 0;
  for (; found >= 0; found = bytes.indexOf(from, at)) {
    parts.push(bytes.subarray(at, found), to);
    at = found + from.length;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}
