/** Values that endpoints follow, from replicas that write whatever they like. */
import { customMapping, builtInMappings, MappingIndex, readMetricSource, type MetricTarget } from "@headroom/metrics";
import { expect, it } from "vitest";
import { FollowedValues } from "./followed-values.ts";
import { TargetReader } from "./target-reader.ts";

const source = readMetricSource({
  kind: "metricSource",
  name: "own",
  type: "replicas",
  every: "5s",
  metrics: [{ metric: "busy", value: "busy", subject: "replica" }],
});
if (!source.ok || source.declaration.type !== "replicas") throw new Error("the source is wrong");
const { declaration } = source;
const index = new MappingIndex([...builtInMappings, customMapping(declaration.metrics)]);
const target = (replica: string): MetricTarget => ({
  source: "own",
  kind: "exposition",
  url: `http://${replica}/metrics`,
  node: null,
  endpoint: "w1",
  replica,
  query: null,
});
const known = { nodes: new Set<string>(), endpoints: new Map<string, string>() };

/** A replica, and its answer at a time. */
function replica(name: string) {
  const reader = new TargetReader(
    target(name),
    { declaration, token: null },
    {
      index,
      nowMs: 0,
      knownUntilMs: null,
    },
  );
  return {
    reader,
    answers: (text: string, atMs: number) => reader.read({ read: async () => text } as never, known, () => atMs),
  };
}

function followed(follows: readonly string[], readers: readonly TargetReader[]) {
  const values = new FollowedValues();
  values.endpoints = [{ id: "w1", name: "a/chat", follows }];
  values.addReplicas("w1", readers);
  return values.take();
}

it("sums amounts over replicas, gives their mean for levels, and is as old as the oldest", async () => {
  const [one, two] = [replica("one"), replica("two")];
  await one.answers("busy 40\n", 1_000);
  await two.answers("busy 60\n", 4_000);
  expect(followed(["busy"], [one.reader, two.reader])).toEqual([
    { endpoint: "w1", source: "own", name: "busy", value: 100, mean: 50, atMs: 1_000, everyMs: 5_000, replicas: 2 },
  ]);
});

it("forgets the value of a replica whose answer has none any more", async () => {
  const [one, two] = [replica("one"), replica("two")];
  await one.answers("busy 40\n", 1_000);
  await two.answers("busy 500\n", 1_000);
  await two.answers("other 1\n", 6_000);
  expect(followed(["busy"], [one.reader, two.reader])).toMatchObject([{ value: 40, replicas: 1 }]);
});

it("has no values with names that every object has", async () => {
  const one = replica("one");
  await one.answers("busy 40\n", 1_000);
  for (const name of ["constructor", "toString", "valueOf", "hasOwnProperty"])
    expect(structuredClone(followed([name], [one.reader]))).toEqual([]);
  const written = { metric: "busy", value: "constructor", subject: "replica" };
  expect(readMetricSource({ kind: "metricSource", name: "own", type: "replicas", metrics: [written] }).ok).toBe(false);
});
