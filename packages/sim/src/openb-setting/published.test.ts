/**
 * Compares with the published shares of FGD's experiment on the list `default`: two seeds, with a tolerance of a
 * percentage point. The ten seeds of the publication are run by hand.
 */
import { presets } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { readLines, sharedData } from "../../../../tools/shared-data.ts";
import { importOpenbDemand } from "../trace/openb.ts";
import { SettingRun } from "./openb-setting.ts";

const folder = "traces/openb";
const nodes = sharedData(`${folder}/openb_node_list_gpu_node.csv`);
const pods = sharedData(`${folder}/openb_pod_list_default.csv`);
const published = sharedData(`${folder}/published_results.csv`);

/** Column of the share that is allocated when demand reaches 130% of the fleet. */
const AT_130 = 10;

function publishedShare(name: string): number {
  const row = readLines(published ?? "").find((line) => line.startsWith(`default,${name},allo,`));
  return Number(row?.split(",")[AT_130]);
}

function meanShare(preset: string): number {
  const trace = importOpenbDemand(
    {
      nodes: { file: nodes ?? "", lines: readLines(nodes ?? "") },
      pods: { file: pods ?? "", lines: readLines(pods ?? "") },
    },
    { skipBroken: false },
  );
  if (trace.kind !== "imported" || trace.trace.fleet === null) throw new Error("the lists cannot be read");
  const { jobs: population, fleet } = trace.trace;
  const shares = [1, 2].map((seed) => {
    const run = new SettingRun({ population, fleet, policy: presets.get(preset)!, demandMilli: 1300, seed });
    while (!run.advance(1000));
    return run.result().marks.at(-1)!.allocatedMilli / 10;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** Far above 20 s, the time of a case on a quiet machine. */
const LIMIT_MS = 300_000;

describe.skipIf(nodes === null || pods === null || published === null)(
  "the openb list beside what was published",
  () => {
    it.each([
      ["random", "01-Random"],
      ["best-fit", "05-BestFit"],
      ["fgd", "06-FGD"],
    ])(
      "%s fills the fleet as %s did",
      (preset, name) => {
        expect(Math.abs(meanShare(preset) - publishedShare(name))).toBeLessThan(1);
      },
      LIMIT_MS,
    );

    it(
      "the default fills more of it than FGD",
      () => {
        expect(meanShare("default")).toBeGreaterThan(publishedShare("06-FGD"));
      },
      LIMIT_MS,
    );
  },
);
