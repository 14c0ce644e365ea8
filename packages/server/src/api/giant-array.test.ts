/** A batch of a million tasks that reserve nothing: the control plane answers meanwhile, restarts, and stops it. */
import { afterAll, describe, expect, it } from "vitest";
import { FileExecutor } from "../driver/testing/file-executor.ts";
import { removeHome, startLive, temporaryHome, type LiveControlPlane } from "./testing/live-control-plane.ts";

const SLOTS = 2;
const ROUNDS = 4;
/** A round starts 512 tasks that reserve nothing, and a group has the events of one round. */
const STARTS_MAX = 512;
const EVENTS_MAX = 2 * STARTS_MAX;

/** Accepts launches and starts nothing, as an executor that is slower than the rounds. */
class SlowExecutor extends FileExecutor {
  override perform(): void {}
}

interface Started {
  readonly live: LiveControlPlane;
  /** Number of events of each group that was synced. */
  readonly groups: number[];
  /** Resolves after a few more groups. */
  rounds(): Promise<void>;
}

const home = temporaryHome();
let open: LiveControlPlane | null = null;
afterAll(async () => {
  await ended();
  removeHome(home);
});

async function ended(): Promise<void> {
  const live = open;
  open = null;
  await live?.close();
}

async function started(): Promise<Started> {
  const groups: number[] = [];
  const waiting: { readonly count: number; resolve(): void }[] = [];
  let known = 0;
  const live = await startLive(home, {
    executors: [new SlowExecutor({ directory: home, slots: SLOTS, runMs: 1 })],
    driver: {
      onPoint: (point) => {
        if (point !== "after-append-before-reply" || open === null) return;
        const { sequence } = open.driver.status();
        groups.push(sequence - known);
        known = sequence;
        for (const each of waiting) if (groups.length >= each.count) each.resolve();
      },
    },
  });
  known = live.driver.status().sequence;
  open = live;
  const rounds = (): Promise<void> =>
    new Promise((resolve) => waiting.push({ count: groups.length + ROUNDS, resolve }));
  return { live, groups, rounds };
}

const isHealthy = async ({ request }: LiveControlPlane): Promise<boolean> => (await request("/healthz")).ok;
const attempts = ({ driver }: LiveControlPlane): Promise<number> => driver.read(({ state }) => state.attempts.size);
const submit = async ({ request }: LiveControlPlane, fields: object): Promise<string> => {
  const body = JSON.stringify({ kind: "batch", name: "b", run: "true", taskCount: 1_000_000, ...fields });
  const answer = await request("/v1/workloads", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { readonly workloadId: string }).workloadId;
};

describe("a batch of a million tasks", () => {
  it("starts as many tasks as the fleet has cores, if the request states no needs", async () => {
    const { live } = await started();
    await submit(live, {});
    expect(await attempts(live)).toBe(SLOTS);
  });

  it("that reserve nothing starts in bounded rounds, over a restart, until it is stopped", async () => {
    await ended();
    const first = await started();
    const submitted = first.rounds();
    const id = await submit(first.live, { name: "free", gang: { coresMilli: 0 } });
    await submitted;
    expect(await isHealthy(first.live)).toBe(true);
    await ended();
    const second = await started();
    await second.rounds();
    expect(await isHealthy(second.live)).toBe(true);
    await second.live.client.stopWorkload(id);
    const placed = await attempts(second.live);
    expect(await second.live.driver.read(({ state }) => [...state.workloads.values()].at(-1)?.stopRequested)).toBe(
      true,
    );
    expect(placed).toBeGreaterThan(STARTS_MAX);
    // The last group has the stop of each running task.
    for (const count of [...first.groups, ...second.groups.slice(0, ROUNDS)])
      expect(count).toBeLessThanOrEqual(EVENTS_MAX);
    expect(await isHealthy(second.live)).toBe(true);
    expect(await attempts(second.live)).toBe(placed);
  });
});
