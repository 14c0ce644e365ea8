/**
 * Random worlds under random actions. `HEADROOM_SEED=156 npm run test:seeds` runs one seed, `HEADROOM_SEEDS=1-10000` a
 * range with progress. By default it runs a slice of the first thousand seeds, and a third of those that once found a defect
 * or whose worlds defragment.
 */
import { describe, expect, it } from "vitest";
import { sliceOf, someOf } from "../../../../tools/testing/rotating.ts";
import { live, Tally } from "./live.ts";
import type { Feature } from "./run-seed.ts";

/** Number of seeds of which each commit runs a slice. */
const SEEDS = 1_000;
const SLICES = 29;
/** Number of commits after which every seed that once found a defect, or defragments, has run again. */
const FOUND_SLICES = 3;

/** Seeds that once found a defect. */
const foundDefects: readonly number[] = [
  90, 207, 214, 216, 359, 509, 552, 554, 750, 920, 937, 980, 1015, 1138, 595, 5425, 970, 1237, 1608, 2499, 2819, 3166,
  4231, 6164, 6194, 6718, 6794, 7928, 8019, 8083, 8623, 7705, 9400, 409, 950, 1779, 230, 3325, 5953, 6605, 8626, 9514,
  9671, 9751, 10911, 10966, 11269, 11365, 11560, 419, 588, 1051, 1796, 1922, 1966,
];

/** Further seeds whose worlds defragment, because few of the others do. */
const defragmenting: readonly number[] = [204, 209, 231];

function chosenSeeds(): readonly number[] {
  const range = (first: number, last: number): number[] =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const { HEADROOM_SEED: one, HEADROOM_SEEDS: many } = process.env;
  if (many !== undefined) {
    const [first, last] = many.split("-").map(Number);
    if (first === undefined || last === undefined || !(first <= last))
      throw new Error(`HEADROOM_SEEDS is a range such as 1-10000, not ${many}`);
    return range(first, last);
  }
  if (one !== undefined) return [Number(one)];
  const found = someOf([...foundDefects, ...defragmenting], { suiteParts: FOUND_SLICES });
  return sliceOf({ size: SEEDS, suiteParts: SLICES, found }).seeds;
}

/** Kinds of events that random worlds must cover. */
const everyKind = `
  nodeJoined, nodeChanged, nodeLost, nodeReturned, nodeDrainStarted, nodeResumed, hotSpareReserved, hotSpareReleased, teamDefined, policySet, commandAnswered,
  workloadSubmitted, workloadStopRequested, workloadEnded, gangPlaced, attemptStarted, attemptStopRequested, progressEstimated,
  workloadHeld, workloadReleased, foreignUseChanged, placementNominated, nominationWithdrawn, evictionPlanned, gangGrown,
  calendarSet, calendarRemoved, windowBegan, windowEnded, budgetCrossed, startWindowOpened, startWindowClosed,
  checkpointRecorded, attemptEnded succeeded, attemptEnded failed, attemptEnded stopped, attemptEnded lost`
  .split(",")
  .map((kind) => kind.trim());

/** Features that must each occur in at least one world of twenty; in one of all where there are few. */
const everyFeature: readonly Feature[] = [
  "reclaim",
  "preemption",
  "gangLoss",
  "backfill",
  "consolidation",
  "defragmentation",
  "nodeLoss",
  "domainLoss",
  "removal",
  "orderFilled",
  "proposalScored",
  "silence",
  "foreignWork",
  "window",
  "budget",
];

/** Errors that occurred, by seed. */
function liveAll(seeds: readonly number[], tally: Tally): string[] {
  const wrong: string[] = [];
  for (const [at, seed] of seeds.entries()) {
    try {
      live(seed, tally);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      wrong.push(message);
      process.stdout.write(`${message}\n`);
    }
    if ((at + 1) % 500 === 0) process.stdout.write(`${at + 1} of ${seeds.length} seeds, ${wrong.length} failed\n`);
  }
  return wrong;
}

const seeds = chosenSeeds();
/** Largest mean time in ms per seed that a busy machine may need. */
const SEED_MS_MAX = 5_000;

describe("random worlds under random happenings", () => {
  it(
    `keep every invariant and come to rest, restarted or not (${seeds.length} seeds from ${seeds[0]})`,
    () => {
      const tally = new Tally();
      const wrong = liveAll(seeds, tally);
      const inWorlds = (feature: Feature): number => tally.worlds.get(feature) ?? 0;
      const share = (feature: Feature): string => `${((100 * inWorlds(feature)) / seeds.length).toFixed(1)}%`;
      const worlds = [...tally.worlds.keys()].map((feature) => `${feature} in ${share(feature)}`);
      const events = everyKind.map((kind) => `${kind} ${tally.events.get(kind) ?? 0}`);
      process.stdout.write(
        `${seeds.length} seeds, ${wrong.length} failed; worlds with ${worlds.join(", ")}; events undisturbed: ${events.join(", ")}\n`,
      );
      expect(wrong).toEqual([]);
      if (seeds.length < 40) return;
      expect(everyKind.filter((kind) => !tally.events.has(kind))).toEqual([]);
      const worldsMin = seeds.length < 100 ? 1 : seeds.length / 20;
      expect(everyFeature.filter((feature) => inWorlds(feature) < worldsMin)).toEqual([]);
    },
    Math.max(50 * 60_000, seeds.length * SEED_MS_MAX),
  );
});
