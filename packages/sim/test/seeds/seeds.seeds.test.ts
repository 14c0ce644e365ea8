import { checkInvariants, createEngine, explain, replayEngine, restoreEngine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { runSeed, type Feature, type SeedRun } from "./run-seed.ts";
import { unlabelled } from "./world.ts";

const first = Number(process.env["HEADROOM_SEED"] ?? 1);
const count = Number(process.env["HEADROOM_SEEDS"] ?? (process.env["HEADROOM_SEED"] === undefined ? 200 : 1));
const seeds = Array.from({ length: count }, (_, index) => first + index);

/** Names the seed in whatever goes wrong with it. */
function underSeed<T>(seed: number, what: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${what}, seed ${seed}: ${message}\nagain with HEADROOM_SEED=${seed} npm run test:seeds`, {
      cause,
    });
  }
}

/** Reading the whole journal gives the state, and so does a snapshot from the middle with what came after it. */
function mustReplay({ engine, groups, digest }: SeedRun): void {
  const whole = createEngine();
  const half = createEngine();
  const middle = groups.length >> 1;
  replayEngine(whole, groups);
  replayEngine(half, groups.slice(0, middle));
  const rest = restoreEngine(half.snapshot());
  replayEngine(rest, groups.slice(middle));
  for (const replayed of [whole, rest]) {
    expect(replayed.state.chain).toBe(engine.state.chain);
    expect(replayed.digest()).toBe(digest);
  }
}

/** The indexes kept up to date are right, and decisions and verdicts equal those from indexes built from nothing (DESIGN §7.16). */
function mustDecideAlike({ engine, nowMs }: SeedRun): void {
  expect(checkInvariants(engine)).toEqual([]);
  const restored = restoreEngine(engine.snapshot());
  expect(restored.receive([{ kind: "tick" }], nowMs).events).toEqual([]);
  for (const id of engine.state.workloads.keys()) expect(explain(restored, id)).toEqual(explain(engine, id));
}

/** Names are only names: with others, that sort differently, the same is decided (DESIGN §7.10), unless knobs settle ties by them. */
function mustNotHeedNames(seed: number, { groups, heedsNames }: SeedRun): void {
  if (heedsNames) return;
  const renamed = runSeed({ seed, restarts: "none", salt: "other names" });
  const texts = (all: SeedRun["groups"]): string[] => all.map(({ text }) => unlabelled(text));
  const expected = texts(groups);
  const got = texts(renamed.groups);
  const differs = expected.findIndex((text, index) => text !== got[index]);
  if (differs >= 0) expect(got[differs]).toBe(expected[differs]);
  expect(got).toHaveLength(expected.length);
}

/** What random worlds have to bring about now and then, or they test less than they seem to. */
const everyKind = `
  nodeJoined, nodeChanged, nodeLost, nodeReturned, nodeDrainStarted, nodeResumed, teamDefined, policySet, commandAnswered,
  workloadSubmitted, workloadStopRequested, workloadEnded, gangPlaced, attemptStarted, attemptStopRequested, progressRecorded,
  workloadHeld, workloadReleased, placePromised, promiseWithdrawn, evictionPlanned, gangGrown,
  checkpointRecorded, attemptEnded succeeded, attemptEnded failed, attemptEnded stopped, attemptEnded lost`
  .split(",")
  .map((kind) => kind.trim());

/** Each of these befalls at least one world in twenty. */
const everyFeature: readonly Feature[] = [
  "reclaim",
  "preemption",
  "gangLoss",
  "backfill",
  "defragmentation",
  "nodeLoss",
];

function tally(seen: Map<string, number>, text: string): void {
  for (const event of JSON.parse(text) as readonly { readonly kind: string; readonly outcome?: string }[]) {
    const name = event.outcome === undefined ? event.kind : `${event.kind} ${event.outcome}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
  }
}

/** One world, undisturbed and disturbed; throws where the two differ or an invariant breaks. */
function live(seed: number, seen: Map<string, number>, had: Map<Feature, number>): void {
  const plain = underSeed(seed, "undisturbed", () => runSeed({ seed, restarts: "none" }));
  for (const { text } of plain.groups) tally(seen, text);
  for (const feature of plain.features) had.set(feature, (had.get(feature) ?? 0) + 1);
  underSeed(seed, "replayed", () => mustReplay(plain));
  underSeed(seed, "decided from nothing", () => mustDecideAlike(plain));
  underSeed(seed, "under other names", () => mustNotHeedNames(seed, plain));
  const restored = underSeed(seed, "restored in mid-run", () => runSeed({ seed, restarts: "restored" }));
  underSeed(seed, "restored in mid-run", () =>
    expect([restored.chain, restored.digest]).toEqual([plain.chain, plain.digest]),
  );
  underSeed(seed, "crashed in mid-run", () => runSeed({ seed, restarts: "crashed" }));
}

/**
 * Defects that are open (docs/promises.md), by seed: two teams that reclaim from each other for ever, and a restored engine
 * that decides otherwise. These worlds must go on failing in just this way, so that who mends one strikes it from the list.
 */
const openDefects: ReadonlyMap<number, string> = new Map([
  [156, "no rest after"],
  [182, "restored in mid-run"],
]);

describe("random worlds under random happenings", () => {
  it(`keep every invariant and come to rest, restarted or not (${count} seeds from ${first})`, () => {
    const seen = new Map<string, number>();
    const had = new Map<Feature, number>();
    for (const seed of seeds) {
      const defect = openDefects.get(seed);
      if (defect !== undefined) {
        process.stdout.write(`seed ${seed} still fails, a known defect: ${defect}\n`);
        expect(() => live(seed, seen, had)).toThrow(defect);
        continue;
      }
      live(seed, seen, had);
    }
    const report = everyKind.map((kind) => `${kind} ${seen.get(kind) ?? 0}`);
    const worlds = [...had].map(([feature, number]) => `${feature} ${number}`);
    process.stdout.write(
      `${count} seeds; worlds with ${worlds.join(", ")}; events undisturbed: ${report.join(", ")}\n`,
    );
    if (count < 100) return;
    expect(everyKind.filter((kind) => !seen.has(kind))).toEqual([]);
    expect(everyFeature.filter((feature) => (had.get(feature) ?? 0) < count / 20)).toEqual([]);
  });
});
