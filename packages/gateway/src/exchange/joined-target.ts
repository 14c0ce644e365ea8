/**
 * Joins a stream of a completion to the answer that the model server would have given without a stream, for a line of a batch: its
 * replica streams it, so that it can stop for other requests and go on later.
 */
import type { Collected } from "./collect-target.ts";
import { chunkOf, dataOf } from "./stream-record.ts";
import type { ResponseTarget } from "./target.ts";

type Fields = Record<string, unknown>;

export class JoinedTarget implements ResponseTarget {
  readonly needsWhole = true;
  readonly keepsStream = true;
  readonly #done: (response: Collected) => void;
  #headers = "";
  #parts: Buffer[] = [];

  constructor(done: (response: Collected) => void) {
    this.#done = done;
  }

  respond(status: number, headers: string, body: Buffer): void {
    this.#done({ status, headers, body });
  }

  begin(_: number, headers: string, first: Buffer): boolean {
    this.#headers = headers;
    this.#parts = [];
    return this.write(first);
  }

  write(bytes: Buffer): boolean {
    this.#parts.push(bytes);
    return true;
  }

  isCut(rest: Buffer | undefined, hasBegun: boolean): boolean {
    // Parts from before the answer began again are of another stream.
    const parts = hasBegun ? this.#parts : [];
    return joined(Buffer.concat(rest === undefined ? parts : [...parts, rest]).toString("utf8")).status !== 200;
  }

  end(): void {
    const { status, body } = joined(Buffer.concat(this.#parts).toString("utf8"));
    this.#done({ status, headers: this.#headers, body: Buffer.from(JSON.stringify(body)) });
  }

  abort(): void {
    const message = "The model server failed while it answered.";
    this.#done({ status: 502, headers: "", body: Buffer.from(JSON.stringify({ error: { message } })) });
  }
}

/** The answer in the events of a stream. An event that states an error is the answer. */
export function joined(events: string): { readonly status: number; readonly body: object } {
  const answer: Fields = {};
  const choices = new Map<number, Fields>();
  for (const event of events.split(/\r?\n\r?\n/)) {
    const data = dataOf(event);
    if (data === undefined || data === "[DONE]") continue;
    const chunk = chunkOf(data);
    if (chunk === undefined || "error" in chunk) return { status: 502, body: chunk ?? brokenAnswer };
    for (const [key, value] of Object.entries(chunk)) if (key !== "choices" && value != null) answer[key] = value;
    for (const choice of chunk.choices ?? []) addChoice(choices, choice);
  }
  // A stream that was cut has no reason for its end.
  const isWhole = choices.size > 0 && [...choices.values()].every((each) => each["finish_reason"] != null);
  if (!isWhole) return { status: 502, body: brokenAnswer };
  const byIndex = [...choices.entries()].toSorted(([left], [right]) => left - right).map(([, choice]) => choice);
  const { object } = answer;
  const whole = typeof object === "string" ? { object: object.replace(/\.chunk$/, "") } : {};
  return { status: 200, body: { ...answer, ...whole, choices: byIndex } };
}

const brokenAnswer = { error: { message: "The model server's stream was not valid." } };

function addChoice(choices: Map<number, Fields>, choice: object): void {
  const { delta, index, text, ...others } = choice as Fields;
  const at = typeof index === "number" ? index : 0;
  const known = choices.get(at) ?? { index: at, ...(delta === undefined ? { text: "" } : { message: emptyMessage() }) };
  choices.set(at, known);
  const before = known["text"];
  if (typeof text === "string") known["text"] = (typeof before === "string" ? before : "") + text;
  for (const [key, value] of Object.entries(others)) add(known, key, value);
  const message = known["message"] as Fields | undefined;
  if (message === undefined || typeof delta !== "object" || delta === null) return;
  for (const [key, value] of Object.entries(delta)) {
    const soFar = message[key];
    const isMore = key !== "role" && typeof value === "string" && typeof soFar === "string";
    add(message, key, isMore ? soFar + value : value);
  }
}

/** Lists come in parts, also those in objects, and other values once. */
function add(fields: Fields, key: string, value: unknown): void {
  const before = fields[key];
  if (Array.isArray(before) && Array.isArray(value)) fields[key] = before.concat(value);
  else if (isObject(before) && isObject(value)) {
    const both = { ...before };
    for (const [name, part] of Object.entries(value)) add(both, name, part);
    fields[key] = both;
  } else if (value != null || !(key in fields)) fields[key] = value;
}

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const emptyMessage = (): Fields => ({ role: "assistant", content: "" });
