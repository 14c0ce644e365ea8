import type { Event } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { ReplicaHistory } from "./served-replica.ts";

const fact = (atMs: number, kind: string, more: object): Event => ({ kind, version: 1, atMs, ...more }) as never;
const given = (number: number) => [{ name: "model:chat", path: "/m", version: `model:default/chat@${number}` }];
const ready = (atMs: number, attemptId: string, address: string): Event =>
  fact(atMs, "replicaReady", { attemptId, address });
const placed = (atMs: number, attemptId: string, revisionNumber?: number): Event =>
  fact(atMs, "gangPlaced", {
    workloadId: attemptId.split(".")[0],
    attemptId,
    ...(revisionNumber === undefined ? {} : { revisionNumber }),
  });

const history: readonly Event[] = [
  fact(1, "workloadSubmitted", {
    workloadId: "w1",
    spec: { kind: "serve", team: "ml", name: "chat" },
    given: given(1),
  }),
  fact(1, "workloadSubmitted", { workloadId: "w2", spec: { kind: "train", team: "ml", name: "job" } }),
  placed(2, "w1.1"),
  placed(2, "w2.1"),
  ready(3, "w1.1", "10.0.0.1:9000"),
  fact(4, "rolloutStarted", { workloadId: "w1", number: 2, given: given(2) }),
  placed(5, "w1.2", 2),
  ready(6, "w1.2", "10.0.0.1:9001"),
  fact(7, "attemptEnded", { attemptId: "w1.1", outcome: "stopped" }),
  placed(8, "w1.3", 2),
  ready(9, "w1.3", "10.0.0.1:9000"),
];

const servedBy = (address: string, atMs: number) => {
  const replicas = new ReplicaHistory(address, atMs);
  replicas.fold(history);
  return replicas.served;
};

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
  });
});
