/** Times of transfers in plans: by readings of the link to a site, for the slowest site while the node is not known. */
import { expect, it } from "vitest";
import { attemptId, nodeId, poolName, siteName, teamName, workloadId } from "@headroom/model";
import { plannedStagingMs, worldOf } from "@headroom/engine/internals";
import { createEngine, transferBefore } from "../src/index.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

const MIB = 1_048_576;
const far = { ...site, name: siteName("far") };
const reader = spec("reader", { data: { inputs: ["s3://lake/corpus"] } });

function engineOfTwoSites() {
  const engine = createEngine();
  const receive = (...inputs: Parameters<typeof engine.receive>[0]): void => {
    engine.receive(inputs, 0);
    engine.advance();
  };
  const pools = [pool("H100"), { ...pool("H100"), name: poolName("far"), site: far.name }];
  receive(
    applied({ sites: [site, far], pools }),
    { kind: "nodeSeen", node: node("n1", "H100") },
    { kind: "nodeSeen", node: { ...node("n2", "H100"), pool: poolName("far") } },
    {
      kind: "storesSeen",
      stores: [{ name: "lake", root: "s3://lake/", site: site.name, egressMicroUsdPerGib: 90_000 }],
    },
    command({ kind: "submitWorkload", spec: spec("mover") }),
  );
  const moved = (to: string, tookMs: number, more: object = {}): void =>
    receive({
      kind: "bytesTransferred",
      direction: "in",
      store: "lake",
      uri: "s3://lake/x",
      bytes: 1_024 * MIB,
      workloadId: workloadId("w1"),
      attemptId: attemptId("w1.1"),
      nodeId: nodeId(to),
      tookMs,
      ...more,
    });
  const cached = (to: string): void =>
    receive({
      kind: "nodeCachesSeen",
      executor: "simulated",
      caches: [{ nodeId: nodeId(to), inputs: [{ uri: "s3://lake/corpus", digest: null, mib: 1_024 }] }],
    });
  const planned = (at: string | null): number =>
    plannedStagingMs(worldOf(engine), reader, undefined, at === null ? null : [nodeId(at)]);
  return { engine, moved, cached, planned };
}

it("plans work without a node for the site to which the transfer takes longest", () => {
  const { moved, cached, planned } = engineOfTwoSites();
  cached("n1");
  for (let count = 0; count < 12; count++) {
    moved("n1", 1_000);
    moved("n2", 60_000);
  }
  // Planned times above a minute have steps of 5 s.
  expect([planned("n1"), planned("n2"), planned(null)]).toEqual([0, 65_000, 65_000]);
  cached("n2");
  expect(planned(null)).toBe(0);
});

it("plans for no site at which the work cannot run", () => {
  const { moved, cached, planned, engine } = engineOfTwoSites();
  cached("n1");
  for (let count = 0; count < 12; count++) moved("n2", 60_000);
  expect(planned(null)).toBe(65_000);
  expect(plannedStagingMs(worldOf(engine), { ...reader, acceleratorTypes: ["A100"] }, undefined)).toBe(0);
});

it("learns nothing from transfers that failed, were resumed, or are shorter than a part", () => {
  const { engine, moved } = engineOfTwoSites();
  moved("n1", 1_000, { failed: true });
  moved("n1", 1_000, { resumed: true });
  moved("n1", 1_000, { bytes: MIB });
  expect(engine.state.stores.get("lake")?.links).toEqual([]);
  moved("n1", 1_000);
  expect(engine.state.stores.get("lake")?.links).toEqual([{ site: "dc", readings: [1_048_576] }]);
});

it("counts a version once, in the number that the work was given, and a path of this machine for its own executor alone", () => {
  const { engine, moved } = engineOfTwoSites();
  for (let count = 0; count < 12; count++) moved("n1", 1_000);
  const receive = (...inputs: Parameters<typeof engine.receive>[0]): void => {
    engine.receive(inputs, 0);
    engine.advance();
  };
  const version = (mib: number, places: readonly string[]) =>
    command({
      kind: "registerArtifact",
      artifact: {
        kind: "dataset",
        team: teamName("default"),
        name: "corpus",
        digest: null,
        bytes: mib * MIB,
        inputs: [],
        places: places.map((uri) => ({ store: "lake", uri, state: "declared" })),
      },
      aliases: [],
      reason: "",
    });
  receive(version(1_024, ["s3://lake/corpus"]), version(4_096, ["/data/corpus", "s3://lake/corpus2"]));
  const given = [{ name: "dataset:corpus", path: "", version: "dataset:default/corpus@1" }];
  const mib = (inputs: readonly string[], more: object = {}): number | undefined =>
    transferBefore(engine, { team: teamName("default"), data: { inputs }, ...more }, [nodeId("n1")])?.mib;
  expect(mib(["dataset:corpus"], { given })).toBe(1_024);
  expect(mib(["dataset:corpus@1", "dataset:default/corpus@1"])).toBe(1_024);
  // The newest version has a path of the machine beside its copy.
  expect(mib(["dataset:corpus"])).toBeUndefined();
  receive(command({ kind: "setExecutor", executor: "simulated", change: { kind: "declare", mode: "run" } }));
  expect(mib(["dataset:corpus"])).toBe(4_096);
});
