import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { contentDigest } from "@headroom/platform";
import { expect, it, onTestFinished } from "vitest";
import type { ObjectStore } from "../objects/object-store.ts";
import { ByteBudget } from "./byte-budget.ts";
import { FairTurns } from "./fair-turns.ts";
import { upload } from "./upload.ts";

const [slow, quick] = [{}, {}];
const never = new AbortController().signal;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("gives free bytes to the store that holds the fewest, and then in the order of arrival", async () => {
  const budget = new ByteBudget(4);
  const granted: string[] = [];
  const take = (name: string, store: object, bytes = 1): Promise<() => void> =>
    budget.take(bytes, store, never).then((giveBack) => {
      granted.push(name);
      return giveBack;
    });
  const held = await Promise.all(["1", "2", "3", "4"].map((name) => take(name, slow)));
  for (const name of ["5", "6"]) void take(name, slow);
  void take("large", quick, 2);
  await settled();
  expect(granted).toHaveLength(4);
  held[0]?.();
  await settled();
  expect(granted).toHaveLength(4);
  held[1]?.();
  held[2]?.();
  await settled();
  expect(granted.slice(4)).toEqual(["large", "5"]);
});

it("gives more than it has to one alone, and nothing to what has left", async () => {
  const budget = new ByteBudget(4);
  const giveBack = await budget.take(10, slow, never);
  const leaving = new AbortController();
  const left = budget.take(4, quick, leaving.signal);
  const next = budget.take(1, slow, never);
  leaving.abort(new Error("cancelled"));
  await expect(left).rejects.toThrow("cancelled");
  giveBack();
  expect(await next).toBeTypeOf("function");
});

it("bounds the parts that uploads have read, and has all back after their ends and failures", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-budget-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const source = path.join(folder, "model");
  writeFileSync(source, "x".repeat(2_500));
  const expected = await contentDigest(source);
  const memory = new ByteBudget(4_000);
  const sending: (() => void)[] = [];
  let [most, held, count] = [0, 0, 0];
  const part = async (_: number, { length }: Buffer): Promise<void> => {
    most = Math.max(most, (held += length));
    const sent = Promise.withResolvers<void>();
    sending.push(sent.resolve);
    await sent.promise;
    held -= length;
    if (++count % 5 === 0) throw new Error("refused");
  };
  const done = (): Promise<void> => Promise.resolve();
  const objects = new Set<string>();
  const store = {
    head: (key: string) => Promise.resolve(objects.has(key) ? { key, bytes: 2_500, tag: "1" } : null),
    write: (key: string) =>
      Promise.resolve({ id: null, partBytes: 1_000, part, complete: async () => void objects.add(key), abort: done }),
  } as unknown as ObjectStore;
  const transfer = { store, turns: new FairTurns(100), memory, uri: "s3://s/x", parallel: 4, onBytes: () => {} };
  const uploads = Array.from({ length: 20 }, (_, number) =>
    upload({ ...transfer, holder: {}, signal: never }, source, { key: `${number}`, expected, notesDir: folder }),
  );
  let isOver = false;
  const ends = Promise.allSettled(uploads).finally(() => (isOver = true));
  for (; !isOver; await settled()) sending.shift()?.();
  const outcomes = new Set((await ends).map(({ status }) => status));
  expect(outcomes).toEqual(new Set(["fulfilled", "rejected"]));
  expect(most).toBeGreaterThan(2_500);
  expect(most).toBeLessThanOrEqual(4_000);
  expect(await memory.take(4_000, quick, never)).toBeTypeOf("function");
});
