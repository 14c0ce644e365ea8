import fc from "fast-check";
import { expect, it } from "vitest";
import { IdMap } from "./id-map.ts";

/** `Aa` and `BB` have the same hash, and so have all texts of these two. */
const id = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((count) => `w${count}`),
  fc.array(fc.constantFrom("Aa", "BB"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("set" as const), id, value: fc.integer() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete" as const), id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function take(map: Map<string, number>, each: Step): unknown {
  if (each.kind === "set") return map.set(each.id, each.value).size;
  return each.kind === "delete" ? map.delete(each.id) : map.clear();
}

it("answers like Map, and has the same order", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.array(id), (steps, asked) => {
      const map = new IdMap<string, number>();
      const model = new Map<string, number>();
      for (const each of steps) expect(take(map, each)).toBe(take(model, each));
      expect(map.size).toBe(model.size);
      expect([...map]).toEqual([...model]);
      expect([...map.keys()]).toEqual([...model.keys()]);
      expect([...map.values()]).toEqual([...model.values()]);
      for (const each of asked) {
        expect(map.get(each)).toBe(model.get(each));
        expect(map.has(each)).toBe(model.has(each));
      }
      const visited: [string, number][] = [];
      new IdMap(model).forEach((value, key) => visited.push([key, value]));
      expect(visited).toEqual([...model]);
    }),
  );
});

it("is iterated like Map while it changes", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.array(fc.array(step, { maxLength: 12 })), (before, during) => {
      const seen = [new IdMap<string, number>(), new Map<string, number>()].map((map) => {
        for (const each of before) take(map, each);
        const entries: [string, number][] = [];
        for (const entry of map) {
          const steps = during[entries.length];
          entries.push(entry);
          for (const each of steps ?? []) take(map, each);
        }
        return entries;
      });
      expect(seen[0]).toEqual(seen[1]);
    }),
  );
});

it("keeps thousands of ids through insertions and removals", () => {
  const map = new IdMap<string, number>();
  for (let count = 0; count < 20_000; count++) {
    map.set(`w${count}`, count);
    map.delete(`w${count - 1000}`);
  }
  expect(map.size).toBe(1000);
  expect([...map.values()]).toEqual(Array.from({ length: 1000 }, (_, at) => 19_000 + at));
  expect(map.get("w19500")).toBe(19_500);
  expect(map.get("w18999")).toBeUndefined();
  for (let count = 19_000; count < 19_995; count++) expect(map.take(`w${count}`)).toBe(count);
  expect(map.take("w19000")).toBeUndefined();
  expect([...map.keys()]).toEqual(["w19995", "w19996", "w19997", "w19998", "w19999"]);
});

it("is iterated to its end while almost all of its ids are removed", () => {
  const ids = Array.from({ length: 1000 }, (_, at) => `w${at}`);
  const map = new IdMap(ids.map((id, at) => [id, at]));
  const seen: string[] = [];
  for (const [id, at] of map) {
    seen.push(id);
    if (at < 500) map.delete(id);
    if (at === 500) for (const other of ids.slice(501, 995)) map.delete(other);
  }
  expect(seen).toEqual([...ids.slice(0, 501), ...ids.slice(995)]);
  expect(map.size).toBe(6);
});
