/**
 * One line of a usage file: the usage of one request. Billing is based on these files. docs/reference/gateway.md lists
 * the fields.
 */

export type UsageOutcome = "completed" | "aborted" | "failed" | "open";

export interface UsageRecord {
  /** Position in this gateway's sequence. The sequence continues after a restart. */
  readonly seq: number;
  /**
   * Request id, unique over all gateways. A later record with the same id replaces an earlier one with outcome `open`.
   */
  readonly id: string;
  readonly atMs: number;
  readonly team: string;
  readonly key: string;
  readonly model: string;
  readonly pool: string;
  readonly operation: string;
  readonly outcome: UsageOutcome;
  readonly status: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  /** Whether the replica did not report prompt tokens, so that they were estimated from the prompt's bytes. */
  readonly isPromptEstimated: boolean;
  readonly nanoUsd: number;
  /** The overflow by which the request left its pool: `TEAM/NAME` of the endpoint or the pool, and why it left. */
  readonly overflow?: string;
  readonly overflowReason?: string;
}

/**
 * Collects lines in one buffer, which is used again after each write: as strings, the lines were the largest garbage of
 * a request. `take` returns a view that is valid until the next `add`.
 */
export class RecordLines {
  #bytes: Buffer = Buffer.allocUnsafe(INITIAL_BYTES);
  #length = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  add(record: Omit<UsageRecord, "seq">, seq: number): void {
    this.#text('{"seq":');
    this.#number(seq);
    this.#text(',"id":"');
    this.#text(record.id);
    this.#text('","atMs":');
    this.#number(record.atMs);
    this.#text(',"team":');
    this.#bytesOf(quoted(record.team));
    this.#text(',"key":');
    this.#bytesOf(quoted(record.key));
    this.#text(',"model":');
    this.#bytesOf(quoted(record.model));
    this.#text(',"pool":');
    this.#bytesOf(quoted(record.pool));
    this.#text(',"operation":"');
    this.#text(record.operation);
    this.#text('","outcome":"');
    this.#text(record.outcome);
    this.#text('","status":');
    this.#number(record.status);
    this.#text(',"promptTokens":');
    this.#number(record.promptTokens);
    this.#text(',"completionTokens":');
    this.#number(record.completionTokens);
    this.#text(',"cachedTokens":');
    this.#number(record.cachedTokens);
    this.#text(
      record.isPromptEstimated ? ',"isPromptEstimated":true,"nanoUsd":' : ',"isPromptEstimated":false,"nanoUsd":',
    );
    this.#number(record.nanoUsd);
    if (record.overflow !== undefined) {
      this.#text(',"overflow":');
      this.#bytesOf(quoted(record.overflow));
      this.#text(`,"overflowReason":"${record.overflowReason ?? ""}"`);
    }
    this.#text("}\n");
  }

  /** Takes the lines collected so far and starts an empty buffer. */
  take(): Buffer {
    const lines = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    // Drops a buffer that a single burst has made large.
    if (this.#bytes.length > KEPT_BYTES_MAX) this.#bytes = Buffer.allocUnsafe(INITIAL_BYTES);
    return lines;
  }

  /** Writes ASCII text: ids, numbers and field names. */
  #text(text: string): void {
    const bytes = this.#roomFor(text.length);
    let at = this.#length;
    for (let index = 0; index < text.length; index++) bytes[at++] = text.charCodeAt(index);
    this.#length = at;
  }

  #bytesOf(text: Buffer): void {
    const bytes = this.#roomFor(text.length);
    let at = this.#length;
    for (let index = 0; index < text.length; index++) bytes[at++] = text[index]!;
    this.#length = at;
  }

  /**
   * Writes a whole number without making a string. Other numbers, such as `nanoUsd` of a negative price, are converted
   * to strings first.
   */
  #number(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      this.#text(JSON.stringify(value));
      return;
    }
    const bytes = this.#roomFor(DIGITS_MAX);
    let digits = 1;
    for (let power = 10; digits < DIGITS_MAX && value >= power; power *= 10) digits++;
    let rest = value;
    for (let at = this.#length + digits - 1; at >= this.#length; at--) {
      const next = Math.floor(rest / 10);
      bytes[at] = 48 + rest - next * 10;
      rest = next;
    }
    this.#length += digits;
  }

  #roomFor(count: number): Buffer {
    if (this.#length + count <= this.#bytes.length) return this.#bytes;
    const larger = Buffer.allocUnsafe(2 * (this.#length + count));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    return larger;
  }
}

const INITIAL_BYTES = 65_536;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;
/** `Number.MAX_SAFE_INTEGER` has sixteen digits. */
const DIGITS_MAX = 16;

/** Cache of quoted names. They come from the configuration, so there are few. */
const quotedNames = new Map<string, Buffer>();
const QUOTED_MAX = 10_000;

function quoted(text: string): Buffer {
  const known = quotedNames.get(text);
  if (known !== undefined) return known;
  const fresh = Buffer.from(JSON.stringify(text));
  if (quotedNames.size >= QUOTED_MAX) quotedNames.clear();
  quotedNames.set(text, fresh);
  return fresh;
}
