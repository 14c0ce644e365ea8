/** A reading beyond its threshold starts one run of a pipeline for each time that it is, also over a restart. */
import type { SubjectSeries } from "@headroom/protocol";
import { OperationalError } from "@headroom/platform";
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { MetricTriggers } from "./metric-triggers.ts";

const MINUTE_MS = 60_000;
const watchHome = temporaryHome();
const warnings: string[] = [];
const asked: string[] = [];
let live: LiveControlPlane;
let nowMs = 1_000_000 * MINUTE_MS;
/** One value a minute, the newest last; `null`: not known. An error: the store does not answer. */
let readings: readonly (number | null)[] | OperationalError = [];

async function series({ subject }: { readonly subject: string }): Promise<SubjectSeries> {
  asked.push(subject);
  if (readings instanceof OperationalError) throw readings;
  const values = [...readings];
  const atMs = values.map((_, index) => nowMs - (values.length - 1 - index) * MINUTE_MS);
  return { subject, atMs, metrics: [{ name: "utilizationPercent", unit: "%", values }] };
}

const openTriggers = (): MetricTriggers => {
  const log = { info() {}, warn: (message: string) => void warnings.push(message), error() {} };
  return new MetricTriggers({
    home: watchHome,
    driver: live.driver,
    telemetry: { series },
    log,
    nowMs: () => nowMs,
  });
};

const step = { name: "report", spec: { kind: "train", name: "report", team: "default", run: "true" } } as const;
const watching = (name: string, subject: string) => ({
  name,
  team: "default",
  params: [{ name: "reading", default: null }],
  steps: [step],
  triggers: [
    { kind: "metric", subject, metric: "utilizationPercent", operator: "lt", value: "40", forMs: 5 * MINUTE_MS },
  ],
});

const declare = async (...pipelines: readonly unknown[]): Promise<void> =>
  void (await live.client.apply({ pipelines } as never));

async function started(name: string): Promise<readonly unknown[]> {
  const { items } = await live.client.listPipelineRuns({ pipeline: name });
  return items.map(({ params }) => params["reading"]).toReversed();
}

beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
  removeHome(watchHome);
});

it("starts one run for each time in which a reading is beyond its threshold", async () => {
  await declare(watching("idle", "pool:local"));
  let triggers = openTriggers();
  const look = async (...values: readonly (number | null)[]): Promise<void> => {
    readings = values;
    await triggers.look();
    nowMs += MINUTE_MS;
  };
  await look(80, 90, 30, 20, 20);
  expect(await started("idle")).toEqual([]);
  // Six minutes in a row, one of them not known.
  await look(90, 30, 20, null, 20, 25, 15, 12.5);
  expect(await started("idle")).toEqual(["12.5"]);
  await look(30, 20, 20, 20, 25, 15, 12, 11);
  await triggers.close();
  triggers = openTriggers();
  await look(20, 20, 20, 25, 15, 12, 11, 10);
  expect(await started("idle")).toEqual(["12.5"]);
  // Silence and an error are neither within the threshold nor beyond it.
  await look(...Array.from({ length: 10 }, () => null));
  readings = new OperationalError("overloaded", "the store is busy");
  await triggers.look();
  expect(warnings.splice(0)).toEqual([
    expect.stringMatching(/^Pipeline idle is not started by .*: the store is busy$/),
  ]);
  await look(20, 20, 20, 20, 20, 20, 20);
  expect(await started("idle")).toEqual(["12.5"]);
  await look(20, 20, 20, 20, 20, 20, 90);
  await look(90, 9, 9, 9, 9, 9, 9, 9);
  expect(await started("idle")).toEqual(["12.5", "9"]);
  await triggers.close();
});

it("does not start a run twice if a crash cuts it from its record", async () => {
  await declare(watching("cut", "fleet"));
  readings = [90, 10, 10, 10, 10, 10, 10];
  const { driver } = live;
  const cut = new MetricTriggers({
    home: watchHome,
    driver: {
      read: (query) => driver.read(query),
      command: async (command) => {
        await driver.command(command);
        throw new OperationalError("cut", "the answer was lost");
      },
    },
    telemetry: { series },
    log: { info() {}, warn() {}, error() {} },
    nowMs: () => nowMs,
  });
  await cut.look();
  await cut.close();
  nowMs += MINUTE_MS;
  readings = [10, 10, 10, 10, 10, 10, 10, 10];
  const next = openTriggers();
  await next.look();
  await next.close();
  expect(await started("cut")).toEqual(["10"]);
});

it("does not read teams and endpoints of others", async () => {
  await live.client.apply({ teams: [{ name: "other" }, { name: "below", parent: "default" }] });
  await declare(
    watching("curious", "team:other"),
    watching("mistyped", "endpoint:none"),
    watching("own", "team:default"),
    watching("child", "team:below"),
  );
  asked.length = 0;
  readings = [];
  const triggers = openTriggers();
  await triggers.look();
  await triggers.close();
  expect(asked.toSorted()).toEqual(["fleet", "pool:local", "team:below", "team:default"]);
  expect(warnings.splice(0)).toEqual([
    expect.stringContaining("It is not team default or one below."),
    expect.stringContaining("Team default has no endpoint none."),
  ]);
});
