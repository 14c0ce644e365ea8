/**
 * One seed's world in all variants that must agree: undisturbed, replayed, rebuilt, renamed, restored, crashed and
 * repeated in every round.
 */
import { createEngine, replayEngine, restoreEngine } from "@headroom/engine";
import { explain } from "@headroom/explain";
import { checkInvariants } from "@headroom/engine-oracle";
import { expect } from "vitest";
import { enginesDecidedAnew } from "./decided-anew.ts";
import { runSeed, type Feature, type SeedRun } from "./run-seed.ts";
import { unlabelled } from "./world.ts";

/** Number of cases that the worlds cover, counted over many worlds. */
export class Tally {
  /** Number of events by kind and outcome. */
  readonly events = new Map<string, number>();
  /** Number of worlds by feature. */
  readonly worlds = new Map<Feature, number>();

  count({ groups, features }: SeedRun): void {
    for (const { text } of groups) this.#countEvents(text);
    for (const feature of features) this.worlds.set(feature, (this.worlds.get(feature) ?? 0) + 1);
  }

  #countEvents(text: string): void {
    for (const event of JSON.parse(text) as readonly { readonly kind: string; readonly outcome?: string }[]) {
      const name = event.outcome === undefined ? event.kind : `${event.kind} ${event.outcome}`;
      this.events.set(name, (this.events.get(name) ?? 0) + 1);
    }
  }
}

/** Runs a seed in all variants; throws if two variants differ or an invariant is violated. */
export function live(seed: number, tally: Tally): void {
  const plain = underSeed(seed, "undisturbed", () => runSeed({ seed, restarts: "none" }));
  tally.count(plain);
  underSeed(seed, "replayed", () => mustReplay(plain));
  underSeed(seed, "decided from nothing", () => mustDecideAlike(plain));
  underSeed(seed, "under other names", () => mustNotHeedNames(seed, plain));
  underSeed(seed, "restored in mid-run", () => {
    const restored = runSeed({ seed, restarts: "restored" });
    expect([restored.chain, restored.digest]).toEqual([plain.chain, plain.digest]);
  });
  underSeed(seed, "crashed in mid-run", () => runSeed({ seed, restarts: "crashed", engines: enginesDecidedAnew }));
}

/** Runs `run` and adds the number of the seed to its errors. */
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

/**
 * Checks that folding the whole journal gives the same state as a snapshot from the middle with the events after it.
 */
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

/**
 * Checks that the incremental indexes are correct, and that decisions and verdicts equal those from rebuilt indexes
 * (DESIGN §7.16).
 */
function mustDecideAlike({ engine, nowMs }: SeedRun): void {
  expect(checkInvariants(engine)).toEqual([]);
  const restored = restoreEngine(engine.snapshot());
  expect(restored.receive([{ kind: "tick" }], nowMs).events).toEqual([]);
  for (const id of engine.state.workloads.keys()) expect(explain(restored, id)).toEqual(explain(engine, id));
}

/**
 * Checks that names have no effect: with other names that sort differently, the decisions are the same (DESIGN §7.10),
 * unless a setting of the policy breaks ties by name.
 */
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
