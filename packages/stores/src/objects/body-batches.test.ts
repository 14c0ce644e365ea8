import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { bodyBatches } from "./body-batches.ts";

const PIECE = Buffer.alloc(64 * 1024, 1);

async function sizesOf(body: PassThrough): Promise<readonly number[]> {
  const sizes: number[] = [];
  for await (const pieces of bodyBatches(body)) sizes.push(pieces.reduce((sum, { length }) => sum + length, 0));
  return sizes;
}

it("gives on many pieces at once, and a few after a short time", async () => {
  const body = new PassThrough({ highWaterMark: 2 ** 24 });
  for (let count = 0; count < 40; count++) body.write(PIECE);
  const sizes = sizesOf(body);
  setTimeout(() => body.end("last"), 150);
  const received = await sizes;
  expect(received.reduce((sum, size) => sum + size, 0)).toBe(40 * PIECE.length + 4);
  expect(received.length).toBeLessThan(8);
});

it("gives on what came before a cut, and then fails", async () => {
  const body = new PassThrough();
  body.write("abc");
  const received: number[] = [];
  const reading = (async () => {
    for await (const pieces of bodyBatches(body)) {
      received.push(pieces.length);
      body.destroy(new Error("cut"));
    }
  })();
  await expect(reading).rejects.toThrow("cut");
  expect(received).toEqual([1]);
});

it("ends the request if its reader stops early", async () => {
  const body = new PassThrough();
  body.write("abc");
  for await (const _ of bodyBatches(body)) break;
  expect(body.destroyed).toBe(true);
});

it("fails if the connection closes before the end", async () => {
  const body = new PassThrough();
  const reading = sizesOf(body);
  body.destroy();
  await expect(reading).rejects.toThrow("ended early");
});
