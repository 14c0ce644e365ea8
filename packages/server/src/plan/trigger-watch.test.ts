import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { removeHome, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { FiredTrigger } from "./fired-triggers.ts";
import { TriggerWatch } from "./trigger-watch.ts";

const HOUR_MS = 3_600_000;
const home = temporaryHome();
afterAll(() => removeHome(home));

/** Proposals have a test of their own, with a real control plane. */
const proposals = {
  follow: async (wanted: readonly { readonly fired: FiredTrigger }[]) => wanted.map(({ fired }) => fired),
  close: () => undefined,
};

it("announces a trigger once when it fires and once when it ends, also over a restart", async () => {
  const said: string[] = [];
  const warned: string[] = [];
  const use = [0.5];
  const watch = (): TriggerWatch =>
    new TriggerWatch({
      home,
      // Capacity and queue are stated, so that hours pass in a moment.
      queueAgeHours: async () => 0,
      log: { warn: (message) => void warned.push(message) },
      nowMs: () => use.length * HOUR_MS,
      history: () => ({
        everyMs: HOUR_MS,
        samples: use.map((part, hour) => ({
          atMs: hour * HOUR_MS,
          total: 10,
          held: 10 * part,
          queued: 0,
          unavailable: 0,
          teams: {},
        })),
      }),
      planReadings: async () => ({}),
      proposals,
      announce: async (sentence) => void said.push(sentence),
    });
  const first = watch();
  await first.look();
  writeFileSync(path.join(home, "triggers.yaml"), "kind: triggers\ntriggers: []\n");
  await first.look();
  await first.look();
  expect(warned).toEqual([expect.stringContaining("triggers.yaml is not used: triggers: ")]);
  writeFileSync(
    path.join(home, "triggers.yaml"),
    "kind: triggers\ntriggers: [{ name: busy, on: utilisation, above: 0.9, below: 0.7, for: 2, action: order nodes }]\n",
  );
  for (const part of [0.95, 0.95, 0.95, 0.8]) {
    use.push(part);
    await first.look();
  }
  expect(said).toEqual([
    expect.stringMatching(/^Trigger busy fired: utilisation is 0\.95: active .* Action: order nodes\.$/),
  ]);
  const second = watch();
  await second.look();
  use.push(0.6);
  await second.look();
  expect(said.slice(1)).toEqual([expect.stringMatching(/^Trigger busy ended: utilisation is 0\.6/)]);
});

it("ends no trigger because a restart forgot the ages of the queue, and forgets triggers that are removed", async () => {
  const said: string[] = [];
  let [hour, age] = [0, 0];
  const watch = (): TriggerWatch =>
    new TriggerWatch({
      home,
      queueAgeHours: async () => age,
      log: { warn: () => undefined },
      nowMs: () => hour * HOUR_MS,
      history: () => ({ everyMs: HOUR_MS, samples: [] }),
      planReadings: async () => ({}),
      proposals,
      announce: async (sentence) => void said.push(sentence.split(":")[0] ?? ""),
    });
  const write = (name: string): void =>
    writeFileSync(
      path.join(home, "triggers.yaml"),
      `kind: triggers\ntriggers: [{ name: ${name}, on: queueAge, above: 4, below: 2, for: 2 }]\n`,
    );
  const see = async (own: TriggerWatch, ages: readonly number[]): Promise<void> => {
    for (const each of ages) {
      [hour, age] = [hour + 1, each];
      await own.look();
    }
  };
  write("waiting");
  await see(watch(), [5, 6, 7]);
  expect(said).toEqual(["Trigger waiting fired"]);
  const second = watch();
  await see(second, [8, 9, 10, 3]);
  expect(said).toEqual(["Trigger waiting fired"]);
  await see(second, [1]);
  expect(said).toEqual(["Trigger waiting fired", "Trigger waiting ended"]);
  await see(second, [5, 6, 7]);
  write("other");
  await see(second, [1]);
  write("waiting");
  await see(second, [1, 1]);
  expect(said.slice(2)).toEqual(["Trigger waiting fired"]);
});

it("reports once that the control plane cannot be read, and goes on", async () => {
  const warned: string[] = [];
  vi.useFakeTimers();
  const own = new TriggerWatch({
    home,
    queueAgeHours: () => Promise.reject(new Error("the journal is full")),
    log: { warn: (message) => void warned.push(message) },
    nowMs: () => 0,
    history: () => ({ everyMs: HOUR_MS, samples: [] }),
    planReadings: async () => ({}),
    proposals,
    announce: async () => undefined,
  });
  own.start();
  await vi.advanceTimersByTimeAsync(180_000);
  own.close();
  vi.useRealTimers();
  expect(warned).toEqual(["Scaling triggers were not evaluated: the journal is full"]);
});
