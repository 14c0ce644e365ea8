/** Reads newline-delimited JSON from a stream of bytes line by line, with limited memory. */

/** The part of the platform's `ReadableStream` that the code uses. */
export interface ByteStream {
  getReader(): ByteReader;
}

export interface ByteReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/**
 * A class that every platform with `fetch` has. It is declared here because the type library of the language lacks it.
 */
declare const TextDecoder: new () => { decode(bytes?: Uint8Array, options?: { stream?: boolean }): string };

/**
 * Maximum length of a line. A control plane sends no longer ones: the largest event contains a body of at most 1 MiB.
 */
const LINE_CHARS_MAX = 8_388_608;

/** Lines without line ends. Empty lines (a server's heartbeat) are skipped. Leaving the loop cancels the stream. */
export async function* linesOf(stream: ByteStream): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let pending = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      pending += decoder.decode(value, { stream: !done });
      let start = 0;
      for (let end = pending.indexOf("\n"); end >= 0; end = pending.indexOf("\n", start)) {
        if (end > start) yield pending.slice(start, end);
        start = end + 1;
      }
      pending = pending.slice(start);
      if (done) break;
      if (pending.length > LINE_CHARS_MAX) throw new Error("a line of the stream is too long");
    }
    if (pending.length > 0) yield pending;
  } finally {
    // Cancelling a failed stream rejects. The failure of the stream was already thrown above.
    await reader.cancel().catch(() => undefined);
  }
}
