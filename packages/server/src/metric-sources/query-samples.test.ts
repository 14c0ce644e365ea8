import { readMetricSource } from "@headroom/metrics";
import type { PrometheusQuery } from "@headroom/metrics";
import { expect, it } from "vitest";
import { rangeSamples } from "./query-samples.ts";

const declared = readMetricSource({
  kind: "metricSource",
  name: "site",
  type: "prometheus",
  url: "http://h",
  queries: [{ value: "inletC", unit: "°C", query: "inlet" }],
});

function query(): PrometheusQuery {
  if (!declared.ok || declared.declaration.type !== "prometheus") throw new Error("the declaration is not read");
  const [first] = declared.declaration.queries;
  if (first === undefined) throw new Error("the declaration has no query");
  return first;
}

it("takes values of a range within its bounds alone", () => {
  const values = [
    [999.999, "1"],
    [1_000, "2"],
    [1_600, "NaN"],
    [2_000, "3"],
    [2_000.001, "4"],
    // A proxy that answers in milliseconds, and a time of which no instant exists.
    [4e12, "5"],
    [-1e300, "6"],
  ];
  const result = [{ metric: { instance: "n1:9100" }, values }];
  const text = JSON.stringify({ status: "success", data: { resultType: "matrix", result } });
  const known = { nodes: new Set(["n1"]), endpoints: new Map<string, string>() };
  expect(rangeSamples(text, query(), { known, range: { fromMs: 1_000_000, untilMs: 2_000_000 } })).toEqual([
    { subject: "node:n1", atMs: 1_000_000, values: { inletC: 2 } },
    { subject: "node:n1", atMs: 2_000_000, values: { inletC: 3 } },
  ]);
});
