import { expect, it } from "vitest";
import { SharedAnswer } from "./shared-answer.ts";

/** An answer that comes when `done` is called, and fails when it is cancelled. */
function started() {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const answer = new SharedAnswer((allGone) => {
    allGone.addEventListener("abort", () => reject(new Error("cancelled")));
    return promise;
  });
  return { answer, done: () => resolve(7) };
}

it("outlives readers that have gone while one waits", async () => {
  const { answer, done } = started();
  const [first, second] = [new AbortController(), new AbortController()];
  const read = [answer.for(first.signal), answer.for(second.signal)];
  first.abort();
  expect(answer.hasFailed).toBe(false);
  done();
  expect(await Promise.all(read)).toEqual([7, 7]);
  second.abort();
  expect(answer.hasFailed).toBe(false);
});

it("is cancelled when all readers have gone", async () => {
  const { answer } = started();
  const [first, second] = [new AbortController(), new AbortController()];
  const read = Promise.allSettled([answer.for(first.signal), answer.for(second.signal)]);
  first.abort();
  second.abort();
  expect(answer.hasFailed).toBe(true);
  expect((await read).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
