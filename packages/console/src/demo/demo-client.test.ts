/** Tests that the demo answers in the API's formats, from a deterministic run, over messages as in the console. */
import { MessageChannel } from "node:worker_threads";
import { workloadId } from "@headroom/model";
import { createWorkerClient, operations, serveWorkerClient } from "@headroom/protocol";
import type { HeadroomClient, OperationName } from "@headroom/protocol";
import type { EstimatedStart } from "@headroom/views";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDemoClient } from "./demo-client.ts";
import type { DemoWorld } from "./demo-world.ts";
import { startAtMs, worldAfter } from "./testing/demo-worlds.ts";

describe("the demo's control plane", () => {
  let world: DemoWorld;
  let client: HeadroomClient;
  const { port1, port2 } = new MessageChannel();
  beforeAll(() => {
    world = worldAfter(39);
    serveWorkerClient(port2, createDemoClient(world, startAtMs));
    client = createWorkerClient(port1);
  });
  afterAll(() => port1.close());

  const checked = <Answer>(name: OperationName, answer: Answer): Answer => {
    const { error } = operations[name].response.safeParse(answer);
    expect(error?.issues ?? []).toEqual([]);
    return answer;
  };

  it("answers every question in the form that the API promises", async () => {
    checked("status", await client.status());
    checked("fleet", await client.fleet());
    checked("listNodes", await client.listNodes({ limit: 500 }));
    checked("getNode", await client.getNode("h100-01"));
    const { items: read } = checked("acceleratorReadings", await client.acceleratorReadings({ limit: 500 }));
    expect(read).toHaveLength(64);
    const memoryGib = (node: string): number =>
      (read.find((each) => each.node === node)?.accelerators[0]?.memoryTotalMib ?? 0) / 1024;
    expect([memoryGib("h100-01"), memoryGib("h200-01")]).toEqual([80, 141]);
    const telemetry = checked("nodeTelemetry", await client.nodeTelemetry("h100-01"));
    expect(telemetry.history).toHaveLength(8);
    checked("teams", await client.teams({ limit: 500 }));
    checked("policy", await client.policy());
    checked("presets", await client.presets());
    checked("size", await client.size({ kind: "network", network: { nodeCount: 64 } }));
    expect(checked("plan", await client.plan()).solved?.orders.length).toBeGreaterThan(0);
    const queue = checked("queue", await client.queue({ limit: 500 }));
    const waiting = queue.items[0]?.workload.id ?? "";
    checked("explainWorkload", await client.explainWorkload(waiting));
    checked("startingChanges", await client.startingChanges(waiting));
    checked("estimateStart", await client.estimateStart(waiting));
    const starts = checked("expectedStarts", await client.expectedStarts({ limit: 2 }));
    checked("expectedStarts", await client.expectedStarts({ limit: 2, cursor: starts.nextCursor }));
    const spec = { kind: "train", name: "a", run: "true", gang: { accelerators: 1 } } as const;
    checked("forecastWorkload", await client.forecastWorkload(spec));
    checked("whatIf", await client.whatIf({ horizonMs: 3_600_000, loseNodes: ["h100-01"] }));
    const listed = checked("listWorkloads", await client.listWorkloads({ limit: 500 }));
    for (const { id } of listed.items.slice(0, 50)) checked("getWorkload", await client.getWorkload(id));
    let count = 0;
    for await (const envelope of client.events({ from: 1 })) {
      checked("events", envelope);
      if (++count === 2_000) break;
    }
  });

  it("answers other questions while starts are estimated, and leaves out what has started meanwhile", async () => {
    const { promise, resolve } = Promise.withResolvers<readonly EstimatedStart[]>();
    const own = createDemoClient(world, startAtMs, () => promise);
    const asked = own.expectedStarts({ limit: 500 });
    const { items } = await own.queue({ limit: 500 });
    const running = (await own.listWorkloads({ phase: "running", limit: 1 })).items[0]?.id ?? "";
    const because = { endsBefore: 0, startsBefore: 0, startedCount: 1, scenarioCount: 1, arrivalsReplayed: false };
    const start = { p10AtMs: 1, p50AtMs: 1, p90AtMs: 1, because, atMs: world.nowMs };
    const waiting = items[0]?.workload.id ?? "";
    resolve([waiting, running, "w999999"].map((id) => ({ ...start, workloadId: workloadId(id) })));
    expect((await asked).items.map(({ workload }) => workload.id)).toEqual([waiting]);
  });

  it("opens on a fleet in use, with a queue whose reasons differ", async () => {
    const { accelerators, workloads } = await client.status();
    expect(accelerators.total).toBe(512);
    expect(accelerators.held).toBeGreaterThan(400);
    expect(workloads.waiting).toBeGreaterThan(10);
    const { items } = await client.queue({ limit: 500 });
    expect(new Set(items.map(({ reason }) => reason?.kind)).size).toBeGreaterThan(1);
  });

  it("takes commands, refuses what the engine refuses, and says what it cannot do", async () => {
    const spec = { kind: "train", name: "mine", run: "simulated", gang: { workers: 1, accelerators: 1 } } as const;
    const { workloadId } = checked("submitWorkload", await client.submitWorkload(spec));
    const { items } = checked("workloadHistory", await client.workloadHistory(workloadId));
    expect(items[0]?.sentence).toBe("you submitted it.");
    checked("changeWorkload", await client.changeWorkload(workloadId, { priority: 3 }));
    checked("holdWorkload", await client.holdWorkload(workloadId));
    checked("releaseWorkload", await client.releaseWorkload(workloadId));
    checked("stopWorkload", await client.stopWorkload(workloadId));
    await expect(client.submitWorkload({ ...spec, team: "nobody" })).rejects.toMatchObject({ code: "unknownTeam" });
    await expect(client.submitWorkload({ ...spec, name: "no spaces" })).rejects.toMatchObject({
      code: "invalidRequest",
      problem: { errors: [{ pointer: "/name" }] },
    });
    checked("drainNode", await client.drainNode("h200-01", { running: "requeue" }));
    expect((await client.getNode("h200-01")).draining).toBe(true);
    checked("resumeNode", await client.resumeNode("h200-01"));
    const { goneAtMs } = checked("noticeNode", await client.noticeNode("h200-02", { inMs: 60_000, reason: "spot" }));
    expect((await client.getNode("h200-02")).notice).toMatchObject({ goneAtMs, reason: "spot" });
    await expect(client.noticeNode("h200-02", { reason: "spot" })).rejects.toMatchObject({ code: "invalidRequest" });
    checked("withdrawNotice", await client.withdrawNotice("h200-02"));
    expect((await client.getNode("h200-02")).notice).toBeUndefined();
    world.planGrowth();
    const { items: orders } = checked("listCapacityOrders", await client.listCapacityOrders());
    expect(orders.map(({ name, lateMs }) => [name, lateMs > 0])).toEqual([
      ["oslo-rack-3", false],
      ["frankfurt-lease", true],
    ]);
    world.registerArtifacts();
    const { items: artifacts } = checked("listArtifacts", await client.listArtifacts());
    expect(artifacts.map(({ ref, versionCount }) => [ref, versionCount])).toEqual([
      ["dataset:support-chats", 1],
      ["model:chat", 2],
      ["report:chat-evaluation", 1],
    ]);
    checked("getArtifact", await client.getArtifact("model:chat"));
    checked("listArtifactVersions", await client.listArtifactVersions("model:chat"));
    checked("getArtifactVersion", await client.getArtifactVersion("model:chat@production"));
    const lineage = checked("artifactLineage", await client.artifactLineage("model:chat"));
    expect(lineage.nodes.map(({ title }) => title)).toEqual([
      "s3://lake/raw/2026",
      "dataset:support-chats@1",
      "model:chat@2",
      "report:chat-evaluation@1",
    ]);
    const bytes = { digest: null, bytes: null, places: [], inputs: [] };
    checked("registerArtifact", await client.registerArtifact({ kind: "report", team: null, name: "r", ...bytes }));
    const deletion = { change: { kind: "delete", number: 1 } } as const;
    checked("changeArtifact", await client.changeArtifact("report:r", deletion));
    const large = { ...spec, name: "large", gang: { workers: 20, accelerators: 8 }, acceleratorTypes: ["H200-SXM"] };
    const { workloadId: largeId } = await client.submitWorkload(large);
    const verdict = checked("explainWorkload", await client.explainWorkload(largeId));
    expect(verdict.sentence).toMatch(/^Waits for order oslo-rack-3 \(ordered, 8 nodes .*expected in 5 weeks/);
    const dryRun = { dryRun: true };
    checked("advanceCapacityOrder", await client.advanceCapacityOrder("oslo-rack-3", {}, dryRun));
    expect((await client.getCapacityOrder("oslo-rack-3")).phase).toBe("ordered");
    checked("cancelCapacityOrder", await client.cancelCapacityOrder("oslo-rack-3", { reason: "no power" }));
    expect((await client.getCapacityOrder("oslo-rack-3")).changes.at(-1)?.reason).toBe("no power");
    await client.stopWorkload(largeId);
    checked("setPolicy", await client.setPolicy({ preset: "sjf" }));
    await expect(client.setPolicy({ preset: "best" })).rejects.toMatchObject({ code: "unknownPreset" });
    const plan = { teams: [{ name: "ops" }] };
    expect(checked("apply", await client.apply(plan, { dryRun: true }))).toMatchObject({ dryRun: true });
    expect((await client.teams({ limit: 500 })).items.map(({ name }) => name)).not.toContain("ops");
    checked("apply", await client.apply(plan));
    checked("removeTeam", await client.removeTeam("ops"));
    await expect(client.usage(workloadId)).rejects.toMatchObject({ code: "notSupported" });
    await expect(client.logs(workloadId)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "notSupported",
    });
  });
});
