/**
 * The output that a stream's client has received, for a replica that continues the stream. Events are kept as bytes
 * until there are a few KiB, and then only their text is kept: an event with one token takes 200 bytes or more, its
 * text about four.
 */
import type { MemoryBudget } from "../http/memory-budget.ts";

/** Fields of a completion's chunk. */
export interface Chunk {
  id?: unknown;
  created?: unknown;
  model?: unknown;
  choices?: {
    delta?: { role?: unknown; content?: unknown; [key: string]: unknown };
    text?: unknown;
    finish_reason?: unknown;
  }[];
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null;
}

/** Fields that identify a stream in each of its events. */
export type StreamIdentity = Pick<Chunk, "id" | "created" | "model">;

export interface Received {
  readonly identity: StreamIdentity;
  readonly text: string;
  /** Number of events with text. With most engines this is one for each token. */
  readonly tokenCount: number;
}

/** Maximum number of bytes per stream of events that are not converted to text yet. */
const WAITING_BYTES_MAX = 4096;
/** Initial size of the buffer for these events. A few events of an idle stream fit. */
const WAITING_BYTES_FIRST = 1024;
/** Maximum number of characters of text kept per stream. A stream with more text cannot be continued. */
const TEXT_MAX = 1024 * 1024;
const noBytes = Buffer.alloc(0);

/** Recorded output of one stream. A limit on the memory of all streams together applies. */
export class StreamRecord {
  readonly #budget: MemoryBudget;
  #waiting: Buffer = noBytes;
  #waitingLength = 0;
  #identity: StreamIdentity | undefined;
  #text = "";
  #tokenCount = 0;
  #budgetBytes = 0;
  #isWhole = true;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /**
   * Adds whole events. They are copied, because a short event would otherwise keep the large buffer in which it arrived
   * in memory.
   */
  add(events: Buffer): void {
    if (!this.#isWhole) return;
    if (this.#waitingLength + events.length > WAITING_BYTES_MAX) this.#takeText();
    if (!this.#isWhole) return;
    if (events.length > WAITING_BYTES_MAX) this.#addText(events.toString("utf8"));
    else this.#wait(events);
  }

  /** The output so far. Undefined if there is no output, too much, or output that is not text. */
  received(): Received | undefined {
    this.#takeText();
    if (!this.#isWhole || this.#identity === undefined) return undefined;
    return { identity: this.#identity, text: this.#text, tokenCount: this.#tokenCount };
  }

  /** Drops the output, because the stream has ended or can no longer be continued. */
  release(): void {
    this.#isWhole = false;
    this.#budget.give(this.#budgetBytes);
    this.#budgetBytes = 0;
    this.#waiting = noBytes;
    this.#waitingLength = 0;
    this.#text = "";
    this.#identity = undefined;
  }

  #wait(events: Buffer): void {
    const length = this.#waitingLength + events.length;
    if (length > this.#waiting.length) {
      const size = Math.min(WAITING_BYTES_MAX, Math.max(WAITING_BYTES_FIRST, 2 * length));
      if (!this.#reserve(size - this.#waiting.length)) return;
      const larger = Buffer.allocUnsafeSlow(size);
      this.#waiting.copy(larger, 0, 0, this.#waitingLength);
      this.#waiting = larger;
    }
    events.copy(this.#waiting, this.#waitingLength);
    this.#waitingLength = length;
  }

  /** Converts the waiting events to text. */
  #takeText(): void {
    const events = this.#waiting.toString("utf8", 0, this.#waitingLength);
    this.#waitingLength = 0;
    this.#addText(events);
  }

  #addText(events: string): void {
    const chunks = chunksOf(events);
    if (chunks === undefined) {
      this.release();
      return;
    }
    let added = "";
    for (const { id, created, model, choices } of chunks) {
      this.#identity ??= { id, created, model };
      const [choice] = choices ?? [];
      if (choice === undefined) continue;
      const piece = choice.finish_reason == null ? textPieceOf(choice) : undefined;
      if (piece === undefined) {
        this.release();
        return;
      }
      if (piece !== "") this.#tokenCount++;
      added += piece;
    }
    if (this.#text.length + added.length > TEXT_MAX) this.release();
    else if (added !== "" && this.#reserve(added.length)) this.#text += added;
  }

  /**
   * Reserves memory. Returns false, and drops this stream's record, if all streams together have reached their limit.
   */
  #reserve(bytes: number): boolean {
    if (this.#budget.take(bytes)) {
      this.#budgetBytes += bytes;
      return true;
    }
    this.release();
    return false;
  }
}

type Choice = NonNullable<Chunk["choices"]>[number];

/** The text of a choice. Undefined if the choice contains anything besides text. */
function textPieceOf(choice: Choice): string | undefined {
  if (typeof choice.text === "string") return choice.text;
  const { delta } = choice;
  if (delta == null) return "";
  const others = Object.entries(delta).filter(
    ([key, value]) => key !== "role" && key !== "content" && value != null && value !== "",
  );
  if (others.length > 0) return undefined;
  return typeof delta.content === "string" ? delta.content : "";
}

function chunksOf(events: string): Chunk[] | undefined {
  const chunks: Chunk[] = [];
  for (const event of events.split(/\r?\n\r?\n/)) {
    const data = dataOf(event);
    if (data === undefined || data === "[DONE]") continue;
    const chunk = chunkOf(data);
    if (chunk === undefined) return undefined;
    chunks.push(chunk);
  }
  return chunks;
}

/** Parses the data of an event. Undefined if it is not a chunk of a completion. */
export function chunkOf(data: string): Chunk | undefined {
  try {
    const chunk = JSON.parse(data) as Chunk | null;
    const isChunk = typeof chunk === "object" && chunk !== null && Array.isArray(chunk.choices ?? []);
    return isChunk && (chunk.choices ?? []).every((each: unknown) => typeof each === "object" && each !== null)
      ? chunk
      : undefined;
  } catch {
    return undefined;
  }
}

export function dataOf(event: string): string | undefined {
  return event.startsWith("data: ") ? event.slice(6) : event.startsWith("data:") ? event.slice(5) : undefined;
}
