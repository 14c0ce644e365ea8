import type { Event, ProducedArtifact } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { ReplicaHistory, type PlacedWork } from "./served-replica.ts";

const fact = (atMs: number, kind: string, more: object): Event => ({ kind, version: 1, atMs, ...more }) as never;
const given = (number: number): readonly ProducedArtifact[] => [
  { name: "model:chat", path: "/m", version: `model:default/chat@${number}` },
];
const ready = (atMs: number, attemptId: string, address: string): Event =>
  fact(atMs, "replicaReady", { attemptId, address });
const placed = (atMs: number, attemptId: string): Event => fact(atMs, "gangPlaced", { attemptId });

/** The endpoint w1 beside the job w2; the replicas have these revisions. */
function state(endpoint: object, revisions: Readonly<Record<string, number>> = {}): PlacedWork {
  const attempts = ["w1.1", "w1.2", "w1.3", "w2.1"].map((id) => {
    const revision = revisions[id] === undefined ? {} : { revisionNumber: revisions[id] };
    return [id, { workloadId: id.split(".")[0], ...revision }] as const;
  });
  const spec = { kind: "serve", team: "ml", name: "chat" };
  const workloads = [
    ["w1", { spec, ...endpoint }],
    ["w2", { spec: { ...spec, kind: "train" } }],
  ] as const;
  return { attempts: new Map(attempts), workloads: new Map(workloads) } as never;
}

const first = state({ given: given(1) });
const rolling = state({ given: given(1), rollout: { number: 2, given: given(2) } }, { "w1.2": 2, "w1.3": 2 });
const history: readonly (readonly [readonly Event[], PlacedWork])[] = [
  [[placed(2, "w1.1"), placed(2, "w2.1")], first],
  [[ready(3, "w1.1", "10.0.0.1:9000"), ready(3, "w2.1", "10.0.0.1:9009")], first],
  [[placed(5, "w1.2")], rolling],
  [[ready(6, "w1.2", "10.0.0.1:9001")], rolling],
  [[fact(7, "attemptEnded", { attemptId: "w1.1", outcome: "stopped" })], rolling],
  [[placed(8, "w1.3")], rolling],
  [[ready(9, "w1.3", "10.0.0.1:9000")], rolling],
];

const servedIn = (groups: typeof history, address: string, atMs: number) => {
  const replicas = new ReplicaHistory(address, atMs);
  for (const [events, after] of groups) replicas.fold(events, after);
  return replicas.served;
};
const servedBy = (address: string, atMs: number) => servedIn(history, address, atMs);

describe("the replica of an address", () => {
  it("is the one that was ready there at the instant, with the versions of its revision", () => {
    const endpoint = { workloadId: "w1", endpoint: "ml/chat" };
    expect(servedBy("10.0.0.1:9000", 5)).toEqual({
      ...endpoint,
      attemptId: "w1.1",
      revision: 1,
      versions: ["model:default/chat@1"],
    });
    expect(servedBy("10.0.0.1:9001", 10)).toMatchObject({
      attemptId: "w1.2",
      revision: 2,
      versions: ["model:default/chat@2"],
    });
    expect(servedBy("10.0.0.1:9000", 8)).toMatchObject({ attemptId: "w1.1" });
    expect(servedBy("10.0.0.1:9000", 9)).toMatchObject({ attemptId: "w1.3", revision: 2 });
  });

  it("is none before the replica was ready, and at other addresses", () => {
    expect(servedBy("10.0.0.1:9000", 2)).toBeNull();
    expect(servedBy("10.0.0.2:9000", 9)).toBeNull();
    expect(servedBy("10.0.0.1:9009", 9)).toBeNull();
  });

  it("has what its endpoint was given when it was placed, also at a later revision that ran again with other models", () => {
    const again = state({ given: given(9), revisionNumber: 2 }, { "w1.3": 2 });
    const groups: typeof history = [
      [[placed(1, "w1.3")], again],
      [[ready(2, "w1.3", "10.0.0.1:9000")], state({ given: given(10), revisionNumber: 2 }, { "w1.3": 2 })],
    ];
    expect(servedIn(groups, "10.0.0.1:9000", 3)).toMatchObject({ revision: 2, versions: ["model:default/chat@9"] });
  });
});
