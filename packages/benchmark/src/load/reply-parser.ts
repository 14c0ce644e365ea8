/** Reads one HTTP/1.1 reply after the other, with Content-Length or chunked coding, and the events in a stream. */
const END_OF_HEAD = Buffer.from("\r\n\r\n");
/** Maximum number of bytes of a body that are kept. Only bodies of failures are kept. */
const MAX_BODY_KEPT = 1000;

export class ReplyParser {
  status = 0;
  isComplete = false;
  /** Whether the server closes the connection after this reply. */
  mustClose = false;
  body = "";
  /** Sending times of the events since the owner last emptied the list. */
  readonly sentTimesMs: number[] = [];
  readonly #isStreaming: boolean;
  #head: Buffer | undefined;
  #bodyLeft = 0;
  #isChunked = false;
  #isInHead = true;
  /**
   * Number of missing bytes of the current chunk, with its line end. The next field is the received part of a chunk's
   * size line.
   */
  #chunkLeft = 0;
  #sizeLine = "";
  #isLastChunk = false;
  #text = "";
  #nextEvent = 0;
  #seenEvents = 0;
  #doubled = 0;
  #sawUsage = false;

  constructor(isStreaming: boolean) {
    this.#isStreaming = isStreaming;
  }

  begin(): void {
    this.status = 0;
    this.isComplete = false;
    this.body = "";
    this.#isInHead = true;
    this.#head = undefined;
    this.#text = "";
    this.#nextEvent = 0;
    this.#seenEvents = 0;
    this.#sawUsage = false;
  }

  feed(bytes: Buffer): void {
    let rest = bytes;
    if (this.#isInHead) {
      const head = this.#head === undefined ? rest : Buffer.concat([this.#head, rest]);
      const end = head.indexOf(END_OF_HEAD);
      if (end < 0) {
        this.#head = Buffer.from(head);
        return;
      }
      this.#readHead(head.toString("latin1", 0, end));
      rest = head.subarray(end + 4);
    }
    if (this.#isChunked) this.#feedChunks(rest);
    else this.#feedBody(rest);
  }

  #readHead(head: string): void {
    this.status = Number(head.slice(9, 12));
    this.#isInHead = false;
    this.#head = undefined;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#isChunked = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head);
    this.mustClose = /\r\nconnection: *close/i.test(head);
    this.#bodyLeft = Number(length ?? 0);
    this.#chunkLeft = 0;
    this.#sizeLine = "";
    this.#isLastChunk = false;
    if (!this.#isChunked && this.#bodyLeft === 0) this.isComplete = true;
  }

  #feedBody(bytes: Buffer): void {
    if (this.status !== 200 && this.body.length < MAX_BODY_KEPT) this.body += bytes.toString("utf8", 0, MAX_BODY_KEPT);
    this.#bodyLeft -= bytes.length;
    if (this.#bodyLeft <= 0) this.isComplete = true;
  }

  #feedChunks(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.isComplete) {
      if (this.#chunkLeft > 0) {
        const end = Math.min(bytes.length, at + this.#chunkLeft);
        this.#content(bytes, at, Math.min(end, at + this.#chunkLeft - 2));
        this.#chunkLeft -= end - at;
        at = end;
        if (this.#chunkLeft === 0 && this.#isLastChunk) this.isComplete = true;
        continue;
      }
      const line = bytes.indexOf(10, at);
      this.#sizeLine += bytes.toString("latin1", at, line < 0 ? bytes.length : line + 1);
      if (line < 0) return;
      at = line + 1;
      const size = Number.parseInt(this.#sizeLine, 16);
      this.#sizeLine = "";
      this.#isLastChunk = size === 0;
      this.#chunkLeft = size + 2;
    }
  }

  #content(bytes: Buffer, from: number, to: number): void {
    if (to <= from) return;
    if (!this.#isStreaming || this.status !== 200) {
      if (this.body.length < MAX_BODY_KEPT) this.body += bytes.toString("utf8", from, to);
      return;
    }
    this.#text += bytes.toString("latin1", from, to);
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end < 0) return;
      this.#event(this.#text, end);
      this.#text = this.#text.slice(end + 2);
    }
  }

  #event(text: string, end: number): void {
    const mark = text.lastIndexOf('"bench":{"n":', end);
    if (mark < 0) {
      this.#sawUsage ||= text.includes('"usage"');
      return;
    }
    const comma = text.indexOf(",", mark + 13);
    const number = Number(text.slice(mark + 13, comma));
    this.sentTimesMs.push(Number(text.slice(comma + 5, text.indexOf("}", comma))));
    if (number < this.#nextEvent) this.#doubled += 1;
    else this.#nextEvent = number + 1;
    this.#seenEvents += 1;
  }

  takeDoubled(): number {
    const doubled = this.#doubled;
    this.#doubled = 0;
    return doubled;
  }

  /** Number of events that are missing in a completed stream: gaps in the numbers, and the final usage event. */
  missingEvents(): number {
    return Math.max(this.#nextEvent - this.#seenEvents, 0) + (this.#sawUsage ? 0 : 1);
  }
}
