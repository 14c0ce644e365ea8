import { expect, it } from "vitest";
import { documentIn, problemsIn } from "../testing/reading.ts";

const serve = (metrics: readonly object[]): object => ({ kind: "serve", name: "a", run: "work", scale: { metrics } });

it("reads targets for values of metric sources", () => {
  const metrics = [
    { name: "jobsQueued", source: "site", perReplica: 20 },
    { name: "busy", level: 0.7 },
  ];
  expect(documentIn(serve(metrics))).toMatchObject({
    spec: {
      scale: {
        metrics: [
          { name: "jobsQueued", source: "site", perReplicaMilli: 20_000 },
          { name: "busy", levelMilli: 700 },
        ],
      },
    },
  });
});

it.each<[string, readonly object[], string]>([
  ["no amount", [{ name: "a" }], "scale.metrics[0]: needs either perReplica or level"],
  ["two amounts", [{ name: "a", perReplica: 2, level: 3 }], "scale.metrics[0]: needs either perReplica or level"],
  [
    "a value twice",
    [
      { name: "a", level: 1 },
      { name: "a", level: 2 },
    ],
    "scale.metrics[1]: has the value a a second time",
  ],
  ["a name of every object", [{ name: "constructor", level: 1 }], "scale.metrics[0].name: must be a name such as"],
  ["another name", [{ name: "a b", level: 1 }], "scale.metrics[0].name: must be a name such as jobsQueued"],
  [
    "a word of Kubernetes",
    [{ name: "a", averageValue: 1 }],
    "scale.metrics[0].averageValue: unknown field; did you mean perReplica?",
  ],
])("refuses %s", (_, metrics, message) => {
  expect(problemsIn(serve(metrics)).join("\n")).toContain(message);
});
