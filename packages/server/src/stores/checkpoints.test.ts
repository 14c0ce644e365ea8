/** Checkpoints that are drained to a store while work goes on, kept by rule, and resumed from on another machine. */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SmallS3Server } from "@headroom/stores/testing";
import { StoreSet } from "@headroom/stores";
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { CheckpointPruner } from "./checkpoint-pruner.ts";
import { StoreService } from "./store-service.ts";

const server = new SmallS3Server();
const home = temporaryHome();
let live: LiveControlPlane;

beforeAll(async () => {
  const endpoint = await server.listen();
  writeFileSync(path.join(home, "secret"), "secret\n");
  const keys = { accessKey: `file:${home}/secret`, secretKey: `file:${home}/secret` };
  live = await startLive(home);
  await live.client.declareStore("lake", { type: "s3", settings: { bucket: "lake", endpoint, ...keys } });
});
afterAll(async () => {
  await live.close();
  await server.close();
  removeHome(home);
});

/** Writes a checkpoint with its step as content, and reports it. */
const shell = `set -e
checkpoint() { mkdir -p "$HEADROOM_CHECKPOINT_DIR/step-$1"; echo "weights of $1" > "$HEADROOM_CHECKPOINT_DIR/step-$1/weights"
  echo "{\\"kind\\":\\"checkpoint\\",\\"step\\":$1,\\"path\\":\\"step-$1\\",\\"metrics\\":{\\"loss\\":$2}}" >> "$HEADROOM_PROGRESS_FILE"; }
await() { until [ -e "${home}/$1" ]; do sleep 0.02; done; }
`;

const submit = async (name: string, run: string, spec: object = {}) =>
  live.client.submitWorkload({
    kind: "train",
    name,
    run: shell + run,
    gang: { accelerators: 0 },
    retries: { max: 1, backoffMs: 1 },
    checkpointStore: "lake",
    ...spec,
  } as never);

const versionsOf = async (name: string) => (await live.client.listArtifactVersions(`checkpoint:${name}`, {})).items;

async function stored(name: string, steps: readonly number[]): Promise<void> {
  const found = async () => {
    const items = await versionsOf(name).catch(() => []);
    return items.map(({ step }) => step).toSorted((left, right) => (left ?? 0) - (right ?? 0));
  };
  await expect.poll(found, { timeout: 40_000 }).toEqual(steps);
}

async function phaseOf(workloadId: string): Promise<string> {
  for await (const { event } of live.client.events({ from: 1, signal: AbortSignal.timeout(40_000) }))
    if (event.kind === "workloadEnded" && event.workloadId === workloadId) return event.phase;
  throw new Error("it did not end");
}

const go = (name: string): void => writeFileSync(path.join(home, name), "");

it("are copied with their digest, kept by the rule, and removed from the store beyond it", async () => {
  const run = `checkpoint 10 3; await a10; checkpoint 20 1; await a20; checkpoint 30 2; await a30`;
  const { workloadId } = await submit("keep", run, { checkpointKeep: 1, checkpointKeepBest: "min loss" });
  await stored("keep", [10]);
  go("a10");
  await stored("keep", [20]);
  go("a20");
  await stored("keep", [20, 30]);
  go("a30");
  expect(await phaseOf(workloadId)).toBe("succeeded");
  const service = new StoreService(home);
  const stores: StoreSet = service.stores;
  await new CheckpointPruner({ driver: live.driver, stores, log: { info() {}, warn: fail, error: fail } }).look();
  await service.close();
  const left = [...server.objects].filter(([key]) => key.startsWith("artifacts/checkpoint/default/keep/"));
  expect(left.map(([, bytes]) => bytes.toString()).toSorted()).toEqual(["weights of 20\n", "weights of 30\n"]);
  const best = (await versionsOf("keep")).find(({ step }) => step === 20);
  expect(await live.client.getArtifactVersion(best?.ref ?? "")).toMatchObject({
    metrics: { loss: 1 },
    places: [{ store: "lake", state: "verified" }],
  });
});

const fail = (message: string): void => {
  throw new Error(message);
};

it("are what an attempt on another machine resumes from, and only when they are complete", async () => {
  const resumed = `if [ -n "$HEADROOM_RESUME_CHECKPOINT" ]; then
    test "$HEADROOM_RESUME_STEP" = 10; test "$(cat "$HEADROOM_RESUME_CHECKPOINT/weights")" = "weights of 10"
    echo more >> "$HEADROOM_RESUME_CHECKPOINT/weights"; exit 0; fi
`;
  const { workloadId } = await submit(
    "move",
    `${resumed} checkpoint 10 1; await b10; checkpoint 20 1; await b20; exit 1`,
  );
  await stored("move", [10]);
  // The store takes no more: step 20 stays on the machine that is lost.
  server.faultOf = ({ method, key }) => (method === "PUT" && key.includes("/move/") ? 503 : null);
  go("b10");
  const reported = async () => (await live.client.getWorkload(workloadId)).checkpoint?.step;
  await expect.poll(reported).toBe(20);
  rmSync(path.join(home, "checkpoints"), { recursive: true });
  go("b20");
  expect(await phaseOf(workloadId)).toBe("succeeded");
  server.faultOf = () => null;
});

it("on the same machine are not read back from the store", async () => {
  const resumed = `if [ -n "$HEADROOM_RESUME_CHECKPOINT" ]; then test "$HEADROOM_RESUME_STEP" = 10; exit 0; fi
`;
  const { workloadId } = await submit("stay", `${resumed} checkpoint 10 1; await c10; exit 1`);
  await stored("stay", [10]);
  go("c10");
  expect(await phaseOf(workloadId)).toBe("succeeded");
  expect(server.requests.some(({ method, key }) => method === "GET" && key.includes("/stay/"))).toBe(false);
});

it("are refused for stores that do not exist, and for work whose checkpoints have no single owner", async () => {
  await expect(submit("nowhere", "true", { checkpointStore: "none" })).rejects.toThrow("checkpoint.store: ");
  await expect(submit("array", "true", { kind: "batch", taskCount: 2 })).rejects.toThrow("is only for kind: train");
});
