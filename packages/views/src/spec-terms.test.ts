import { readDocument } from "@headroom/protocol";
import { expect, it } from "vitest";
import { specTerms } from "./spec-terms.ts";

const termsOf = (fields: object): readonly string[] => {
  const reading = readDocument({ kind: "train", name: "a", run: "true", ...fields });
  if (!reading.ok || reading.document.kind !== "workload") throw new Error("not a workload");
  return specTerms(reading.document.spec).map(({ name, text }) => `${name}: ${text}`);
};

it("says what a workload asks for beyond its gang, and nothing where it asks for nothing", () => {
  expect(termsOf({ gang: { workers: 4, accelerators: 8 } })).toEqual([]);
  expect(
    termsOf({
      elastic: { min: 2, max: 4 },
      gang: { share: 0.25 },
      fabric: { within: "spine", prefer: "leaf", slices: [{ workers: 2, within: "node" }] },
      selector: { zone: "a" },
      spread: { topologyKey: "rack" },
      after: [{ workload: "tokenize" }, { workload: "probe", on: "any" }],
      notBefore: "2027-03-01T08:00:00+01:00",
      deadline: "2027-03-02T08:00:00Z",
      preemptible: { minRuntime: "30m" },
      restartCost: "90s",
    }),
  ).toEqual([
    "Elastic: runs with 2 workers, grows to 4",
    "Share: 0.25 of an accelerator for each worker",
    "Fabric: all in one spine, preferably in one leaf, 2 at a time in one node",
    "Nodes: only on nodes with zone=a",
    "Spread: at most 1 worker for each rack",
    "After: tokenize has succeeded, probe has ended",
    "Not before: 2027-03-01T07:00:00Z",
    "Deadline: 2027-03-02T08:00:00Z",
    "Preemptible: yes, not before it has run 30 min",
    "Restart costs: 1 min 30 s beyond the work since its last checkpoint",
  ]);
});

it("says group by group what a gang of groups asks for, what it reads, and whom it keeps away from", () => {
  const groups = [
    { name: "prefill", workers: 4, min: 2, accelerators: 1, cores: 4 },
    { name: "decode", accelerators: 8, memory: "64GiB", accelerator: "H200", fabric: { within: "leaf" } },
  ];
  expect(
    termsOf({
      gang: { taskGroups: groups },
      data: { inputs: ["s3://corpus/v7"], rule: "restricted" },
      antiAffinity: { sets: ["chat"], from: [{ set: "chat", topologyKey: "rack" }], exclusive: "node" },
    }),
  ).toEqual([
    "Group prefill: 2 to 4 workers, each 1 accelerator, 4 cores",
    "Group decode: 1 worker, each 8 H200 accelerators, 1 core, 64 GiB; all in one leaf",
    "Elastic: runs with 3 workers, grows to 5",
    "Sets: chat",
    "Anti-affinity: from chat by rack, all other work",
    "Reads: s3://corpus/v7",
    "Data rule: restricted: runs only where this data rule is admitted",
  ]);
});
