import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesOf, type ByteStream } from "./ndjson.ts";

/** A stream that delivers the bytes in pieces, cut at the given places. */
function streamOf(bytes: Uint8Array, cuts: readonly number[]): ByteStream & { cancelled: boolean } {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((left, right) => left - right);
  const pieces = [...places, bytes.length].map((end, index) => bytes.slice(places[index - 1] ?? 0, end));
  const stream = {
    cancelled: false,
    getReader: () => ({
      read: () => {
        const value = pieces.shift();
        return Promise.resolve(value === undefined ? { done: true } : { done: false, value });
      },
      cancel: () => {
        stream.cancelled = true;
        return Promise.resolve();
      },
    }),
  };
  return stream;
}

describe("lines of a byte stream", () => {
  it("come out whole wherever the bytes are cut, even within a character", async () => {
    const lines = fc.array(fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", " ")));
    await fc.assert(
      fc.asyncProperty(lines, fc.array(fc.nat()), async (texts, cuts) => {
        const stream = streamOf(new TextEncoder().encode(texts.map((text) => `${text}\n`).join("")), cuts);
        const read: string[] = [];
        for await (const line of linesOf(stream)) read.push(line);
        expect(read).toEqual(texts.filter((text) => text !== ""));
        expect(stream.cancelled).toBe(true);
      }),
    );
  });

  it("include a last one without an end", async () => {
    const read: string[] = [];
    for await (const line of linesOf(streamOf(new TextEncoder().encode('\n{"a":1}\n\n{"b"'), [3]))) read.push(line);
    expect(read).toEqual(['{"a":1}', '{"b"']);
  });
});
