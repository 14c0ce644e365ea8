/** Work with inputs in stores, or with uploads, and pools whose executor does or does not make such transfers. */
import { checkInvariants } from "@headroom/engine-oracle";
import { explain } from "@headroom/explain";
import { teamName, workloadId } from "@headroom/model";
import type { ArtifactChange } from "@headroom/model";
import { expect, it, vi } from "vitest";
import { worldOf } from "../src/internals.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const STORE = { name: "lake", root: "s3://lake/", site: null };

interface Transfers {
  readonly inputs?: boolean;
  readonly uploads?: boolean;
  readonly uploadsFrom?: readonly string[];
}

const seen = (executor: string, can: Transfers) =>
  ({
    kind: "executorSeen",
    executor: {
      id: executor,
      kind: "local",
      capabilities: { checkpointOnRequest: true, resize: true, replaceWorkers: false, logs: true, ...can },
    },
  }) as const;

const cases = {
  in: { needs: { data: { inputs: ["s3://lake/text"] } }, lacks: { inputs: false, uploads: true } },
  out: { needs: { data: { store: "lake" }, produces: ["model:chat"] }, lacks: { inputs: true, uploads: false } },
  checkpoints: { needs: { checkpointStore: "lake" }, lacks: { inputs: true, uploads: false } },
};

it.each(Object.entries(cases))("waits while no executor makes its transfers: %s", (name, { needs, lacks }) => {
  const drive = new Drive();
  const { executor } = pool("H100");
  drive.receive(seen(executor, lacks), applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }));
  drive.receive({ kind: "storesSeen", stores: [STORE] });
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  const submit = (title: string, changes: object) =>
    drive.receive(command({ kind: "submitWorkload", spec: { ...spec(title), ...changes } }));
  submit("with transfers", needs);
  submit("plain", {});
  submit("reads a path", { data: { inputs: ["/data/text"] } });
  const started = (): readonly string[] => [...drive.engine.state.attempts.values()].map((each) => each.workloadId);
  expect(started()).toEqual(["w2", "w3"]);
  const direction = name === "in" ? "in" : "out";
  expect(explain(drive.engine, workloadId("w1"))).toMatchObject({
    kind: "blocked",
    reasons: [{ kind: "transfers", direction, pools: [] }],
  });
  expect(checkInvariants(drive.engine)).toEqual([]);
  drive.receive(seen(executor, { inputs: true, uploads: true }));
  expect(started()).toContain("w1");
});

it.each([
  ["dir", { data: { store: "lake" }, produces: ["model:chat"], dir: "/scratch/a/run" }],
  ["checkpoint.dir", { checkpointStore: "lake", checkpointDir: "/scratch/a/run" }],
])("waits while no executor uploads from the directory that it names: %s", (_, needs) => {
  const drive = new Drive();
  const { executor } = pool("H100");
  const from = (...uploadsFrom: readonly string[]) => seen(executor, { uploadsFrom });
  drive.receive(
    from("/scratch/ab", "/srv"),
    applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }),
  );
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  const submit = (title: string, changes: object) =>
    drive.receive(command({ kind: "submitWorkload", spec: { ...spec(title), ...changes } }));
  submit("named", needs);
  submit("upwards", { ...needs, dir: "/srv/../etc", checkpointDir: "/srv/../etc" });
  submit("own", { ...needs, dir: null, checkpointDir: null });
  submit("makes nothing", { dir: "/scratch/a/run", checkpointDir: "/scratch/a/run" });
  const started = (): readonly string[] => [...drive.engine.state.attempts.values()].map((each) => each.workloadId);
  expect(started()).toEqual(["w3", "w4"]);
  expect(explain(drive.engine, workloadId("w1"))).toMatchObject({
    kind: "blocked",
    reasons: [{ kind: "transfers", direction: "out", pools: [], from: "/scratch/a/run" }],
  });
  expect(checkInvariants(drive.engine)).toEqual([]);
  drive.receive(from("/scratch/"));
  expect(started()).toEqual(["w3", "w4", "w1"]);
});

it("starts work with inputs in a store when the store is read in place, or is removed", () => {
  for (const stores of [[], [{ ...STORE, inPlace: true as const }]]) {
    const drive = new Drive();
    const lacks = seen(pool("H100").executor, { inputs: false });
    drive.receive(lacks, applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }));
    drive.receive({ kind: "storesSeen", stores: [STORE] });
    drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
    const inputs = { data: { inputs: ["s3://lake/text"] } };
    drive.receive(command({ kind: "submitWorkload", spec: { ...spec("x"), ...inputs } }));
    expect(drive.engine.state.attempts.size).toBe(0);
    drive.receive({ kind: "storesSeen", stores });
    expect(drive.engine.state.attempts.size).toBe(1);
  }
});

it("brings a version that was made here and uploaded, for its path is that of this machine", () => {
  const drive = new Drive();
  const { executor } = pool("H100");
  drive.receive(
    seen(executor, { inputs: false }),
    applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }),
  );
  drive.receive({ kind: "storesSeen", stores: [STORE, { name: "nfs", root: "/nfs/", site: null, inPlace: true }] });
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  const versions = {
    stored: ["/scratch/w1/model", "s3://lake/model"],
    shared: ["/nfs/model", "s3://lake/model"],
    path: ["/data/model"],
    hub: ["hf://org/model", "s3://lake/model"],
  };
  for (const [name, uris] of Object.entries(versions)) {
    const places = uris.map((uri) => ({ store: "local", uri, state: "declared" as const }));
    const named = { kind: "model" as const, team: teamName("default"), name };
    const artifact = { ...named, digest: null, bytes: 1, inputs: [], places };
    drive.receive(command({ kind: "registerArtifact", artifact, aliases: [], reason: "" }));
    drive.receive(command({ kind: "submitWorkload", spec: { ...spec(name), data: { inputs: [`model:${name}`] } } }));
  }
  const waiting = [...drive.engine.state.workloads.values()].filter(({ phase }) => phase === "pending");
  expect(waiting.map((each) => each.spec.name)).toEqual(["stored"]);
  expect(explain(drive.engine, workloadId("w1"))).toMatchObject({ reasons: [{ kind: "transfers", direction: "in" }] });
  expect(checkInvariants(drive.engine)).toEqual([]);
});

it("searches for places again only after changes that can move an input", () => {
  const drive = new Drive();
  drive.receive(seen("lab", { inputs: false }));
  const woken = vi.spyOn(worldOf(drive.engine).capacity, "nodesChanged");
  const artifact = { kind: "model" as const, team: teamName("default"), name: "chat" };
  const place = { store: "lake", uri: "s3://lake/chat", state: "declared" as const };
  const content = { ...artifact, digest: null, bytes: 1, inputs: [], places: [place] };
  const wakes = (receive: () => void): number => {
    woken.mockClear();
    receive();
    return woken.mock.calls.length;
  };
  const register = (): number =>
    wakes(() => drive.receive(command({ kind: "registerArtifact", artifact: content, aliases: [], reason: "" })));
  const change = (made: ArtifactChange): number =>
    wakes(() => drive.receive(command({ kind: "changeArtifact", artifact, change: made, reason: "" })));
  expect(register()).toBe(0);
  drive.receive({ kind: "storesSeen", stores: [STORE] });
  expect(register()).toBe(1);
  expect(change({ kind: "tags", number: 1, tags: { language: "en" } })).toBe(0);
  expect(change({ kind: "hold", number: 1 })).toBe(0);
  expect(change({ kind: "alias", alias: "current", number: 1 })).toBe(1);
  expect(change({ kind: "place", number: 1, place: { ...place, uri: "/data/chat" } })).toBe(1);
  expect(wakes(() => drive.receive({ kind: "storesSeen", stores: [] }))).toBe(1);
});

it("starts as earlier builds did under an executor that states nothing", () => {
  const drive = new Drive();
  drive.receive(
    seen(pool("H100").executor, {}),
    applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }),
  );
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  drive.receive(command({ kind: "submitWorkload", spec: { ...spec("x"), checkpointStore: "lake" } }));
  expect(drive.engine.state.attempts.size).toBe(1);
});
