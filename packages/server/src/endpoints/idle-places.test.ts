/** The control plane gives up the replica of an idle endpoint only for an answer of the thread of forecasts, and only while it is idle. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { LoadReport } from "@headroom/protocol";
import { afterEach, expect, it } from "vitest";
import { makesRoom } from "../forecast/makes-room.ts";
import { AutoscalerService } from "./autoscaler-service.ts";
import { sharedAccelerator, type SharedAccelerator } from "./testing/shared-accelerator.ts";

const ORIGIN_MS = 1_790_000_000_000;
const patience = { timeout: 20_000, interval: 50 } as const;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const reportOf = (changes: Partial<LoadReport>): LoadReport => ({
  version: 1,
  gateway: "g",
  startedAtMs: 1,
  requests: 0,
  running: 0,
  held: 0,
  idleMs: 120_000,
  queued: null,
  kvUsage: null,
  ttft: null,
  tpot: null,
  replicas: [],
  ...changes,
});

interface Asking {
  readonly world: SharedAccelerator;
  readonly questions: unknown[];
  report(id: string, changes: Partial<LoadReport>): Promise<unknown>;
}

/** A service over a simulated engine, seven minutes after the first replica was ready. `answer`: of the thread. */
async function asking(answer: (world: SharedAccelerator, asked: Asking) => Promise<number | null>): Promise<Asking> {
  const home = mkdtempSync(path.join(tmpdir(), "idle-places-"));
  const world = sharedAccelerator([], ORIGIN_MS);
  const { simulation, first, waiting } = world;
  const [attemptId] = simulation.engine.state.workloads.get(first)?.activeAttempts ?? [];
  simulation.receive([
    { kind: "attemptRunning", attemptId },
    { kind: "replicaReady", attemptId, address: "h:1" },
  ] as never);
  let nowMs = ORIGIN_MS;
  const questions: unknown[] = [];
  const service = new AutoscalerService({
    home,
    driver: {
      read: async (reader: (engine: never) => unknown) => reader(simulation.engine as never),
      command: async (command: object) => world.send(command),
    } as never,
    telemetry: { onFollowed: () => undefined },
    forecast: {
      ask: async (question: unknown) => {
        questions.push(question);
        return answer(world, asked);
      },
    } as never,
    log: { info: () => undefined, warn: () => undefined } as never,
    nowMs: () => nowMs,
  });
  const asked: Asking = {
    world,
    questions,
    report: (id, changes) => service.report(id, reportOf(changes)),
  };
  for (; nowMs <= ORIGIN_MS + 400_000; nowMs += 5_000) {
    await asked.report(first, {});
    await asked.report(waiting, { held: 1, idleMs: 0 });
  }
  service.start();
  closing.push(async () => {
    await service.close();
    rmSync(home, { recursive: true, force: true });
  });
  return asked;
}

const replicasOf = ({ world: { simulation, first } }: Asking): number | undefined =>
  simulation.engine.state.workloads.get(first)?.scale?.replicas;
const room = async ({ simulation, waiting, command }: SharedAccelerator): Promise<number | null> =>
  makesRoom(simulation.engine, waiting, command) ? 0 : null;

it("gives up the replica of the idle endpoint when the answer is that it makes room", async () => {
  const asked = await asking(room);
  await expect.poll(() => replicasOf(asked), patience).toBe(0);
  expect(asked.questions).toMatchObject([{ kind: "makesRoom", waiting: asked.world.waiting }]);
});

it.each([
  ["there is no answer", async () => Promise.reject(new Error("overloaded"))],
  ["none makes room", async () => null],
  [
    "a request came to it meanwhile",
    async (world: SharedAccelerator, asked: Asking) => {
      await asked.report(world.first, { running: 1, idleMs: 0, requests: 1 });
      return 0;
    },
  ],
])("keeps it if %s", async (_, answer) => {
  const asked = await asking(answer);
  await expect.poll(() => asked.questions.length, patience).toBe(1);
  expect(replicasOf(asked)).toBe(1);
});
