/** Stores over HTTP, and work whose inputs are staged from one before it starts. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SmallS3Server } from "@headroom/stores/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

const server = new SmallS3Server();
const home = temporaryHome();
/** Folders of stores. They lie beside the state directory, never in it. */
const folders = temporaryHome();
let live: LiveControlPlane;
let endpoint = "";

beforeAll(async () => {
  endpoint = await server.listen();
  writeFileSync(path.join(home, "secret"), "secret\n");
  live = await startLive(home);
  await live.client.declareStore("lake", { type: "s3", settings: settings() });
});
afterAll(async () => {
  await live.close();
  await server.close();
  removeHome(home);
  removeHome(folders);
});

const settings = () => ({
  bucket: "lake",
  endpoint,
  accessKey: `file:${home}/secret`,
  secretKey: `file:${home}/secret`,
});

type Spec = Parameters<LiveControlPlane["client"]["submitWorkload"]>[0];

async function end(workloadId: string): Promise<{ readonly phase: string; readonly detail: string }> {
  let detail = "";
  for await (const { event } of live.client.events({ from: 1, signal: AbortSignal.timeout(20_000) })) {
    const hasDetail = event.kind === "attemptEnded" || event.kind === "artifactNotRegistered";
    if (hasDetail && event.attemptId.startsWith(workloadId)) detail ||= event.detail;
    if (event.kind === "workloadEnded" && event.workloadId === workloadId) return { phase: event.phase, detail };
  }
  throw new Error("it did not end");
}

async function run(spec: Partial<Spec>): Promise<{ readonly phase: string; readonly detail: string }> {
  const whole = { kind: "train", name: "read", gang: { accelerators: 0 }, retries: { max: 0 }, ...spec } as Spec;
  const { workloadId } = await live.client.submitWorkload(whole);
  return end(workloadId);
}

const place = (key: string) => ({ store: "lake", uri: `s3://lake/${key}`, state: "declared" }) as const;
const version = { digest: null, bytes: null, inputs: [], team: null };

describe("stores", () => {
  it("are declared in a file without secrets, and refused with the field", async () => {
    expect(readFileSync(path.join(home, "stores.yaml"), "utf8")).toContain(`secretKey: file:${home}/secret`);
    expect(await live.client.declareStore("lake", { type: "s3", settings: settings() })).toMatchObject({
      action: "unchanged",
    });
    await expect(
      live.client.declareStore("other", { type: "s3", settings: { ...settings(), secretKey: "AKIA" } }),
    ).rejects.toThrow("/secretKey: must be a reference to the secret");
    await expect(live.client.declareStore("twin", { type: "s3", settings: settings() })).rejects.toMatchObject({
      code: "storeConflict",
    });
    await expect(live.client.removeStore("none")).rejects.toMatchObject({ code: "unknownStore" });
    expect((await live.client.stores()).items).toMatchObject([{ name: "lake", type: "s3", place: "s3://lake/" }]);
  });

  it("give work its inputs as local paths, read once", async () => {
    server.objects.set("raw/a.txt", Buffer.from("alpha"));
    server.objects.set("raw/b/c.txt", Buffer.from("gamma"));
    server.objects.set("text/v1", Buffer.from("words"));
    await live.client.registerArtifact({ ...version, kind: "dataset", name: "text", places: [place("text/v1")] });
    const spec = {
      run: 'set -e; test "$(cat $HEADROOM_ARTIFACT_DATASET_TEXT)" = words; test "$(cat $HEADROOM_INPUT_0)" = words; test "$(cat $HEADROOM_INPUT_1/b/c.txt)" = gamma',
      data: { inputs: ["dataset:text", "s3://lake/raw"] },
    };
    expect(await run(spec)).toMatchObject({ phase: "succeeded" });
    expect(await run({ ...spec, name: "again" })).toMatchObject({ phase: "succeeded" });
    expect(server.readsOf("text/v1")).toBe(1);
    expect(server.readsOf("raw/a.txt")).toBe(1);
    const [cache] = (await live.client.storeCaches()).items;
    expect(cache?.items.map(({ uri, bytes, holders }) => [uri, bytes, holders])).toEqual([
      ["s3://lake/raw", 10, []],
      ["s3://lake/text/v1", 5, []],
    ]);
    // The engine knows the cache, so that other work is placed where these bytes are.
    const seen: string[] = [];
    const moved: string[] = [];
    for await (const { event } of live.client.events({ from: 1, signal: AbortSignal.timeout(20_000) })) {
      if (event.kind === "nodeCacheChanged") seen.push(...event.added.map(({ uri }) => uri));
      if (event.kind === "bytesTransferred")
        moved.push(`${event.direction} ${event.store} ${event.uri} ${event.bytes}`);
      if (seen.length === 2 && moved.length === 2) break;
    }
    expect(seen.toSorted()).toEqual(["s3://lake/raw", "s3://lake/text/v1"]);
    expect(moved.toSorted()).toEqual(["in lake s3://lake/raw 10", "in lake s3://lake/text/v1 5"]);
  });

  it("take the artifacts of work before its end counts, and are claimed as their places", async () => {
    const made = {
      run: 'mkdir out; printf weights > out/model; printf "{}" > out/config; echo \'{"kind":"artifact","name":"model:chat","path":"out"}\' >> "$HEADROOM_PROGRESS_FILE"',
      produces: ["model:chat"],
    };
    expect(await run({ ...made, name: "make", data: { store: "lake" } })).toMatchObject({ phase: "succeeded" });
    const { digest, places } = await live.client.getArtifactVersion("model:chat@1");
    const uri = `s3://lake/artifacts/model/default/chat/${digest?.slice("sha256:".length)}`;
    expect(places).toMatchObject([
      { store: "local", state: "verified" },
      { store: "lake", state: "verified", uri },
    ]);
    expect(server.objects.get(`${uri.slice("s3://lake/".length)}/model`)?.toString()).toBe("weights");
    // The bytes of the attempt are gone: the store has them.
    rmSync(places[0]?.uri ?? "", { recursive: true });
    const read = 'test "$(cat $HEADROOM_ARTIFACT_MODEL_CHAT/model)" = weights';
    expect(await run({ name: "use", run: read, data: { inputs: ["model:chat"] } })).toMatchObject({
      phase: "succeeded",
    });
  });

  it("end an attempt whose inputs are missing or have other bytes, with what to do", async () => {
    expect(await run({ name: "missing", run: "true", data: { inputs: ["s3://lake/none"] } })).toMatchObject({
      phase: "failed",
      detail: expect.stringContaining(
        "s3://lake/none could not be staged. s3://lake/none does not exist. Check the path",
      ),
    });
    server.objects.set("text/v2", Buffer.from("other words"));
    const digest = `sha256:${"0".repeat(64)}`;
    await live.client.registerArtifact({
      ...version,
      kind: "dataset",
      name: "text",
      digest,
      places: [place("text/v2")],
    });
    expect(await run({ name: "wrong", run: "true", data: { inputs: ["dataset:text"] } })).toMatchObject({
      phase: "failed",
      detail: expect.stringContaining("has other bytes than the version that was registered"),
    });
  });

  it("do not give data with a rule to work without it", async () => {
    server.objects.set("secret/v1", Buffer.from("names"));
    const rule = "restricted";
    const names = { ...version, kind: "dataset" as const, name: "names", rule, places: [place("secret/v1")] };
    await expect(live.client.registerArtifact(names)).rejects.toThrow("the store lake admits no data rule");
    const inner = { ...settings(), prefix: "secret/" };
    await live.client.declareStore("secret", { type: "s3", settings: { ...inner, rules: [rule] } });
    await live.client.registerArtifact(names);
    await expect(live.client.declareStore("secret", { type: "s3", settings: inner })).rejects.toThrow(
      "would hold versions whose data rules it does not admit: dataset:default/names@1 (restricted)",
    );
    await expect(live.client.removeStore("secret")).rejects.toThrow("which lacks the rules restricted");
    expect(await run({ name: "unruled", run: "true", data: { inputs: ["dataset:names"] } })).toMatchObject({
      phase: "failed",
      detail: expect.stringContaining("Set data.rule: restricted in the workload"),
    });
    expect(server.readsOf("secret/v1")).toBe(0);
  });

  it("do not give bytes by their URI from a store with rules to work without one of them", async () => {
    const folder = path.join(folders, "vault");
    mkdirSync(folder);
    writeFileSync(path.join(folder, "names"), "names");
    await live.client.declareStore("vault", {
      type: "shared",
      settings: { path: folder, cached: true, rules: ["restricted"] },
    });
    const raw = { name: "raw", run: "true", data: { inputs: [`file://${folder}/names`] } };
    await expect(run(raw)).rejects.toThrow(
      "The store vault has data with rules (restricted), and the workload has none",
    );
  });

  it("keep their rule on versions that are registered without one", async () => {
    const names = { store: "vault", uri: `file://${path.join(folders, "vault")}/names`, state: "declared" } as const;
    await live.client.registerArtifact({ ...version, kind: "dataset", name: "inherited", places: [names] });
    expect(await live.client.getArtifactVersion("dataset:inherited@1")).toMatchObject({ rule: "restricted" });
    expect(await run({ name: "take", run: "true", data: { inputs: ["dataset:inherited"] } })).toMatchObject({
      phase: "failed",
      detail: expect.stringContaining("Set data.rule: restricted in the workload"),
    });
    await live.client.registerArtifact({ ...version, kind: "dataset", name: "plain", places: [place("text/v1")] });
    await expect(
      live.client.changeArtifact("dataset:plain", {
        change: { kind: "place", number: 1, place: names },
        reason: "why",
      }),
    ).rejects.toThrow("has none: register a new version with the rule");
  });

  it("are closed to teams that they do not list", async () => {
    for (const name of ["lab", "guests"]) await live.client.apply({ teams: [{ name, parent: null, limit: {} }] });
    await live.client.declareStore("lab", { type: "s3", settings: { ...settings(), bucket: "lab", readers: ["lab"] } });
    const read = { name: "closed", run: "true", data: { inputs: ["s3://lab/x"] } };
    await expect(run({ ...read, team: "guests" })).rejects.toThrow("The store lab is not open to the team guests");
    await expect(run({ ...read, team: "lab", data: { store: "lab" } })).rejects.toThrow(
      "does not let the team lab write",
    );
    // A version of the team names the bytes: the executor refuses what the submission cannot see.
    const foreign = { store: "lab", uri: "s3://lab/x", state: "declared" } as const;
    await live.client.registerArtifact({ ...version, team: "lab", kind: "dataset", name: "lab", places: [foreign] });
    await expect(
      live.client.registerArtifact({ ...version, team: "guests", kind: "dataset", name: "lab", places: [foreign] }),
    ).rejects.toThrow("not open to the team guests");
    expect(
      await run({ name: "foreign", run: "true", team: "guests", data: { inputs: ["dataset:lab/lab"] } }),
    ).toMatchObject({ phase: "failed", detail: expect.stringContaining("not open to the team guests") });
  });

  it("never contain the state directory", async () => {
    for (const at of [home, path.dirname(home), path.join(home, "attempts")])
      await expect(live.client.declareStore("state", { type: "shared", settings: { path: at } })).rejects.toThrow(
        "contains the state directory",
      );
  });

  it("are refused at the submission if they cannot take the artifacts", async () => {
    const spec = { name: "nowhere", run: "true", produces: ["model:lost"] };
    await expect(run({ ...spec, data: { store: "none" } })).rejects.toThrow("data.store: ");
    await expect(run({ ...spec, data: { store: "lake", rule: "restricted" } })).rejects.toThrow(
      "the store lake does not admit the data rule restricted",
    );
  });

  it("leave artifacts unregistered that were not uploaded, and the history says why", async () => {
    const folder = path.join(folders, "gone");
    mkdirSync(folder);
    await live.client.declareStore("gone", { type: "shared", settings: { path: folder } });
    const { workloadId } = await live.client.submitWorkload({
      kind: "train",
      name: "nowhere",
      run: `until [ -e ${folder}/go ]; do sleep 0.05; done; printf x > m; echo '{"kind":"artifact","name":"model:lost","path":"m"}' >> "$HEADROOM_PROGRESS_FILE"`,
      gang: { accelerators: 0 },
      produces: ["model:lost"],
      data: { store: "gone" },
    });
    await live.client.removeStore("gone");
    writeFileSync(path.join(folder, "go"), "");
    const detail = "it was not uploaded to the store gone. No store gone is declared (headroom store add).";
    expect(await end(workloadId)).toEqual({ phase: "succeeded", detail });
    await expect(live.client.getArtifactVersion("model:lost")).rejects.toMatchObject({ code: "unknownArtifact" });
    const { items } = await live.client.workloadHistory(workloadId);
    expect(items.map(({ sentence }) => sentence)).toContainEqual(
      expect.stringContaining("model:lost was not registered"),
    );
  });

  it("show what an attempt waits for, and let it be stopped meanwhile", async () => {
    server.objects.set("slow/v1", Buffer.from("slow"));
    const asked = Promise.withResolvers<void>();
    server.faultOf = ({ method, key }) => {
      if (method !== "GET" || key !== "slow/v1") return null;
      asked.resolve();
      return "hang";
    };
    const { workloadId } = await live.client.submitWorkload({
      kind: "train",
      name: "slow",
      run: "true",
      gang: { accelerators: 0 },
      data: { inputs: ["s3://lake/slow/v1"] },
    });
    await asked.promise;
    const [attempt] = (await live.client.getWorkload(workloadId)).attempts;
    expect(attempt).toMatchObject({
      phase: "launching",
      staging: { uri: "s3://lake/slow/v1", store: "lake", bytes: 0, totalBytes: 4 },
    });
    await live.client.stopWorkload(workloadId);
    expect(await end(workloadId)).toMatchObject({ phase: "cancelled" });
    server.faultOf = () => null;
  });
});
