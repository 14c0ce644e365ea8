import { expect, it } from "vitest";
import { withMerges } from "./merge-keys.ts";

it("merges maps below the fields of the map itself, the first of several first", () => {
  const base = { image: "base:1", command: ["python", "a.py"], workingDir: "/w" };
  const value = { containers: [{ "<<": [{ image: "first:1" }, base], workingDir: "/own", name: "main" }] };
  const merged = { image: "first:1", command: ["python", "a.py"], workingDir: "/own", name: "main" };
  expect(withMerges(value)).toEqual({ containers: [merged] });
  expect(withMerges({ "<<": { "<<": { a: 1 }, b: 2 }, c: 3 })).toEqual({ a: 1, b: 2, c: 3 });
});

it("leaves merge keys with other values, and names that objects inherit", () => {
  expect(withMerges({ "<<": "text", a: 1 })).toEqual({ "<<": "text", a: 1 });
  const own = withMerges(JSON.parse('{"<<": {"__proto__": {"x": 1}}, "a": 1}')) as object;
  expect([Object.keys(own), Object.getPrototypeOf(own)]).toEqual([["__proto__", "a"], Object.prototype]);
});

it("reads maps that refer to themselves, and depths without end", () => {
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic["<<"] = cyclic;
  expect(withMerges(cyclic)).toEqual({ a: 1 });
  let deep: unknown = "end";
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  expect(withMerges(deep)).toHaveLength(1);
});
