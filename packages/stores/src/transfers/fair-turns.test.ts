import { expect, it } from "vitest";
import { FairTurns } from "./fair-turns.ts";

it("gives turns to transfers one after the other, although the first has all its requests before the others", async () => {
  const turns = new FairTurns(1);
  const { signal } = new AbortController();
  const order: string[] = [];
  const request = async (name: string, holder: object): Promise<void> => {
    const giveBack = await turns.take(holder, signal);
    order.push(name);
    await Promise.resolve();
    giveBack();
  };
  const [a, b, c] = [{}, {}, {}];
  const early = [1, 2, 3].flatMap(() => request("a", a)).concat([1, 2, 3].map(() => request("b", b)));
  await Promise.all([...early, request("c", c)]);
  expect(order).toEqual(["a", "b", "c", "a", "b", "a", "b"]);
});
