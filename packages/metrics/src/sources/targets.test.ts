import { describe, expect, it } from "vitest";
import { readMetricSource } from "./declaration.ts";
import type { MetricSource } from "./declaration.ts";
import { addressProblem, expandTargets } from "./targets.ts";

function source(settings: object): MetricSource {
  const read = readMetricSource({ kind: "metricSource", name: "s", ...settings });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.declaration;
}

const nodes = [
  { id: "n1", pool: "a", labels: { ip: "10.0.0.1", rack: "r1" } },
  { id: "n2", pool: "a", labels: { ip: "evil.example/x?#" } },
  { id: "n3", pool: "b", labels: { ip: "169.254.169.254" } },
  { id: "n4", pool: "b" },
];

describe("targets", () => {
  it("are made of nodes, whose labels cannot change the address beyond its host", () => {
    const { targets, refused } = expandTargets(
      [source({ type: "scrape", address: "http://{label.ip}:9400/metrics" })],
      nodes,
      [],
    );
    expect(targets.map(({ url, node }) => [url, node])).toEqual([["http://10.0.0.1:9400/metrics", "n1"]]);
    expect(refused.map(({ subject, problem }) => `${subject}: ${problem}`)).toEqual([
      "n2: its label ip is no host name",
      "n3: link-local addresses are not read: there machines get their credentials",
      "n4: the node has no label ip",
    ]);
  });

  it("are those of the chosen pool and labels, and the listed ones", () => {
    const chosen = source({ type: "scrape", address: "http://{node}:1/m", pool: "a", nodeLabels: { rack: "r1" } });
    const listed = source({ type: "scrape", targets: ["http://h:2/m", { url: "http://h:3/m", node: "n4" }] });
    const { targets } = expandTargets([chosen, listed], nodes, []);
    expect(targets.map(({ url, node }) => [url, node])).toEqual([
      ["http://n1:1/m", "n1"],
      ["http://h:2/m", null],
      ["http://h:3/m", "n4"],
    ]);
  });

  it("are the ready replicas of endpoints", () => {
    const replicas = [
      { endpoint: "w1", attempt: "w1.2", url: "http://127.0.0.1:8000" },
      { endpoint: "w2", attempt: "w2.1", url: "http://127.0.0.1:8001" },
    ];
    const { targets } = expandTargets([source({ type: "replicas", endpoints: ["w2"] })], [], replicas);
    expect(targets).toMatchObject([
      { url: "http://127.0.0.1:8001/metrics", endpoint: "w2", replica: "w2.1", node: null },
    ]);
  });
});

it.each([
  [{ type: "scrape" }, "needs `targets` or `address`"],
  [{ type: "scrape", address: "http://h:9/metrics" }, "must contain {node} or {label.NAME}"],
  [{ type: "scrape", targets: ["http://user:secret@h/m"] }, ""],
  [{ type: "scrape", targets: ["http://h/m"], authorization: "hunter2" }, "must be a reference to the secret"],
  [{ type: "scrape", targets: ["http://h/m"], every: "0s" }, "must be a duration"],
  [{ type: "scrape", targets: ["http://h/m"], intervall: "9s" }, "intervall"],
  [{ type: "prometheus", url: "ftp://h", queries: [{ value: "x", query: "up" }] }, "must be http"],
  [{ type: "prometheus", url: "http://h", queries: [] }, ""],
])("refuses %j", (settings, message) => {
  const read = readMetricSource({ kind: "metricSource", name: "s", ...settings });
  expect(read.ok).toBe(false);
  if (!read.ok) expect(read.problems.map((each) => each.message).join("\n")).toContain(message);
});

it.each([
  "http://169.254.169.254/latest",
  "http://2852039166/latest",
  "http://0xa9fea9fe:80/latest",
  "http://0251.254.169.254/",
  "http://169.254.43518/",
  "http://169.254.169.254./",
  "http://①69.254.169.254/",
  "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
  "http://[64:ff9b::169.254.169.254]/",
  "http://[FD00:EC2:0::254]/",
  "http://[fe80::1]:9400/",
  "http://metadata.google.internal./",
])("never reads %s, in whatever form the address is written", (url) => {
  expect(addressProblem(url)).toContain("link-local addresses are not read");
});

it.each(["http://10.0.0.5:9400/metrics", "http://[fd00::5]:9400/metrics", "https://gpu-7.example/metrics"])(
  "reads %s",
  (url) => {
    expect(addressProblem(url)).toBeNull();
  },
);
