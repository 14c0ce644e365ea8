/** The registry over HTTP: a workload's model from its text to its versions, and what other teams see of it. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  await live.client.apply({
    teams: [
      { name: "lab", parent: null },
      { name: "other", parent: null },
    ],
  });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const report = (name: string, path: string): string =>
  `echo '{"kind":"artifact","name":"${name}","path":"${path}","metrics":{"loss":1.5}}' >> "$HEADROOM_PROGRESS_FILE"`;

/** Runs the work, and returns when it has ended. */
async function ended(spec: Parameters<LiveControlPlane["client"]["submitWorkload"]>[0]): Promise<string> {
  const { workloadId } = await live.client.submitWorkload(spec);
  for await (const { event } of live.client.events({ from: 1, signal: AbortSignal.timeout(20_000) }))
    if (event.kind === "workloadEnded" && event.workloadId === workloadId) return event.phase;
  return "unknown";
}

const empty = { digest: null, bytes: null, places: [], inputs: [] };

describe("artifacts over HTTP", () => {
  it("registers the model of a workload with its digest, and walks back to its text", async () => {
    const { client } = live;
    const text = { store: "local", uri: "/data/text", state: "declared" } as const;
    await client.registerArtifact({ ...empty, kind: "dataset", team: null, name: "text", places: [text] });
    const phase = await ended({
      kind: "train",
      name: "quickstart",
      run: `printf weights > model.bin; printf %s "$HEADROOM_ARTIFACT_DATASET_TEXT" > seen; ${report("model:quickstart", "model.bin")}; ${report("report:seen", "seen")}`,
      gang: { accelerators: 0 },
      data: { inputs: ["dataset:text"] },
      produces: ["model:quickstart", "report:seen", "report:missing"],
    });
    expect(phase).toBe("succeeded");
    const digestOf = (bytes: string): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    const version = await client.getArtifactVersion("model:quickstart@1");
    expect(version).toMatchObject({
      ref: "model:quickstart@1",
      digest: digestOf("weights"),
      bytes: 7,
      metrics: { loss: 1.5 },
      inputs: ["dataset:default/text@1"],
      places: [{ store: "local", state: "verified" }],
    });
    expect((await client.getArtifactVersion("report:seen")).digest).toBe(digestOf("/data/text"));
    await expect(client.getArtifactVersion("report:missing")).rejects.toMatchObject({ code: "unknownArtifact" });
    const { nodes } = await client.artifactLineage("model:quickstart");
    expect(nodes.map(({ depth, title }) => [depth, title])).toEqual([
      [-2, "dataset:text@1"],
      [-1, "quickstart"],
      [0, "model:quickstart@1"],
    ]);
    const down = await client.artifactLineage("dataset:text", { direction: "down" });
    expect(down.nodes.map(({ title }) => title)).toEqual([
      "dataset:text@1",
      "quickstart",
      "model:quickstart@1",
      "report:seen@1",
    ]);
  });

  it("moves aliases with their history, and refuses to delete what something depends on", async () => {
    const { client } = live;
    const change = (change: Parameters<typeof client.changeArtifact>[1]["change"], reason = "why") =>
      client.changeArtifact("model:quickstart", { change, reason });
    await change({ kind: "alias", alias: "production", number: 1 });
    expect((await client.getArtifactVersion("model:quickstart@production")).aliases).toEqual(["production"]);
    const { aliases } = await client.getArtifact("model:quickstart");
    expect(aliases).toMatchObject([{ alias: "production", number: 1, moves: [{ number: 1, reason: "why" }] }]);
    await expect(change({ kind: "delete", number: 1 })).rejects.toMatchObject({ code: "artifactInUse" });
    await change({ kind: "alias", alias: "production", number: null });
    await change({ kind: "hold", number: 1 });
    await expect(change({ kind: "delete", number: 1 })).rejects.toMatchObject({ code: "artifactOnHold" });
    await change({ kind: "release", number: 1 });
    await change({ kind: "delete", number: 1 });
    expect((await client.listArtifactVersions("model:quickstart")).items).toEqual([]);
    await change({ kind: "restore", number: 1 });
    const { items } = await client.listArtifactVersions("model:quickstart");
    expect(items.map(({ ref }) => ref)).toEqual(["model:quickstart@1"]);
  });

  it("shows artifacts of other teams as absent, also to work that names them", async () => {
    const { client } = live;
    for (const team of ["lab", "other"]) await client.registerArtifact({ ...empty, kind: "model", team, name: "chat" });
    await expect(client.getArtifact("model:chat")).rejects.toMatchObject({ code: "ambiguousArtifact" });
    const { secret } = await client.createToken({ name: "lab", user: "carol", team: "lab", role: "member" });
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const get = async (path: string): Promise<readonly [number, string]> => {
      const answer = await fetch(live.url + path, { headers });
      return [answer.status, await answer.text()];
    };
    const address = (artifact: string): string => `/v1/artifacts/${encodeURIComponent(artifact)}`;
    expect((await get(address("model:chat")))[1]).toContain("model:lab/chat");
    const [status, hidden] = await get(address("model:other/chat"));
    const absent = (await get(address("model:other/none")))[1].replaceAll("none", "chat");
    expect([status, hidden]).toEqual([404, absent]);
    expect((await get("/v1/artifacts"))[1]).not.toContain("other");
    const spec = { kind: "train", name: "thief", team: "lab", run: "true", gang: { accelerators: 0 } };
    const body = JSON.stringify({ ...spec, data: { inputs: ["model:other/chat@1"] } });
    const refused = await fetch(`${live.url}/v1/workloads`, { method: "POST", headers, body });
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([404, "unknownArtifact"]);
  });
});
