import { describe, expect, it } from "vitest";
import { peerDeviations, type PeerMeans } from "../peers/peer-deviations.ts";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { PeerWatch } from "./peer-watch.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const draw = uniformDraws(29);
/** Nearly normal, with a standard deviation of 1. */
const normal = (): number => Array.from({ length: 12 }, draw).reduce((sum, each) => sum + each, -6);

interface Sizes {
  readonly nodes: number;
  readonly accelerators: number;
}
type Values = Readonly<Record<string, number>>;

/** Means of an hour of healthy accelerators. `own`: values of one accelerator instead, by subject. */
const fleet = ({ nodes, accelerators }: Sizes, own: Readonly<Record<string, Values>> = {}): readonly PeerMeans[] =>
  Array.from({ length: nodes }, (_, node) =>
    Array.from({ length: accelerators }, (__, at) => {
      const subject = `accelerator:n${node}#${at}`;
      const values = {
        busyMilli: 900,
        temperatureC: 60 * (1 + 0.05 * normal()),
        powerMilliwatts: 600_000 * (1 + 0.03 * normal()),
        smClockMhz: 1_900 * (1 + 0.02 * normal()),
        pcieReplayCount: draw() < 0.02 ? 1 : 0,
        correctedErrorCount: draw() < 0.05 ? 2 : 0,
        ...own[subject],
      };
      return { subject, set: "accelerator h100", values: new Map(Object.entries(values)) };
    }),
  ).flat();

/** Looks for some minutes at the same means. */
function lookFor(watch: PeerWatch, means: readonly PeerMeans[], fromMs: number, minutes: number): number {
  const deviations = peerDeviations(means);
  for (let minute = 0; minute <= minutes; minute += 5) watch.look(deviations, fromMs + minute * MINUTE_MS);
  return fromMs + minutes * MINUTE_MS;
}
const reasons = (watch: PeerWatch): readonly string[] => watch.findings().map(({ reason }) => reason);

describe("nodes whose readings stay worse than those of their set", () => {
  const sizes = { nodes: 8, accelerators: 8 };

  it("are a finding after an hour that names node, metric, value and median, and end with the deviation", () => {
    const watch = new PeerWatch();
    const hot = fleet(sizes, { "accelerator:n3#5": { temperatureC: 95, powerMilliwatts: 590_000 } });
    const atMs = lookFor(watch, hot, HOUR_MS, 55);
    expect(watch.findings()).toEqual([]);
    const laterMs = lookFor(watch, hot, atMs + 5 * MINUTE_MS, 10);
    expect(watch.findings()).toMatchObject([
      {
        id: "deviation:n3",
        kind: "deviation",
        sinceMs: HOUR_MS,
        change: { kind: "advice", about: "node n3", text: "prove the node: headroom nodes qualify n3" },
      },
    ]);
    expect(reasons(watch)[0]).toMatch(
      /^temperatureC of accelerator 5 of n3 is 95, the median of its 64 peers (?:59|60|61)/,
    );
    watch.look(peerDeviations(fleet(sizes)), laterMs + 5 * MINUTE_MS);
    expect(watch.findings()).toEqual([]);
    // A pause in the looks begins the hour again.
    lookFor(watch, hot, laterMs + HOUR_MS, 40);
    expect(watch.findings()).toEqual([]);
  });

  it("say that advice is over only after an hour of looks", () => {
    const watch = new PeerWatch();
    const advice = { kind: "advice", about: "node n3", text: "prove the node: headroom nodes qualify n3" } as const;
    expect(watch.awaits(advice)).toBe(true);
    const healthy = fleet(sizes);
    const atMs = lookFor(watch, healthy, HOUR_MS, 55);
    expect(watch.awaits(advice)).toBe(true);
    expect(watch.awaits({ ...advice, text: "set checkpoint.every to 30m" })).toBe(false);
    const laterMs = lookFor(watch, healthy, atMs + 5 * MINUTE_MS, 10);
    expect(watch.awaits(advice)).toBe(false);
    watch.look([], laterMs + HOUR_MS);
    expect(watch.awaits(advice)).toBe(true);
  });

  it("are none for better values, for the work of the node, or in a small set", () => {
    const seen = (own: Values, of: Sizes = sizes): readonly string[] => {
      const watch = new PeerWatch();
      lookFor(watch, fleet(of, { "accelerator:n3#0": own }), HOUR_MS, 70);
      return reasons(watch);
    };
    expect(seen({ temperatureC: 30 })).toEqual([]);
    expect(seen({ smClockMhz: 2_900 })).toEqual([]);
    // Heavy work: hot, and slow at the limit of power.
    expect(seen({ temperatureC: 95, smClockMhz: 1_300, powerMilliwatts: 700_000 })).toEqual([]);
    expect(seen({ smClockMhz: 1_300 })).toHaveLength(1);
    expect(seen({ pcieReplayCount: 900 })).toHaveLength(1);
    expect(seen({ temperatureC: 95 }, { nodes: 12, accelerators: 1 })).toEqual([]);
  });

  // A draw of a day lasts the whole day: the noise of a node is that of its place, and looks are no independent trials.
  it.each([
    { nodes: 64, accelerators: 8, days: 32 },
    { nodes: 16, accelerators: 1, days: 128 },
    { nodes: 24, accelerators: 1, days: 84 },
  ])("raise at most one false alarm in 1,000 node-days in a pool of $nodes nodes", ({ nodes, accelerators, days }) => {
    let alarms = 0;
    for (let day = 0; day < days; day++) {
      const watch = new PeerWatch();
      lookFor(watch, fleet({ nodes, accelerators }), HOUR_MS, 60);
      alarms += watch.findings().length;
    }
    expect(nodes * days).toBeGreaterThanOrEqual(2_000);
    expect(alarms).toBeLessThanOrEqual(2);
  });
});
