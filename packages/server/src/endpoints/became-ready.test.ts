import { expect, it } from "vitest";
import { BecameReady } from "./became-ready.ts";

it("remembers a replica until the second look after its report", () => {
  const became = new BecameReady();
  became.add("a");
  became.looked();
  became.add("b");
  expect(["a", "b", "c"].map((id) => became.has(id))).toEqual([true, true, false]);
  became.looked();
  expect(["a", "b"].map((id) => became.has(id))).toEqual([false, true]);
});
