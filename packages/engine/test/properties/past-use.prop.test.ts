/** Compares decayed usage with an exact computation from the journal, and tests its effects. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runsOf } from "../../../../tools/testing/rotating.ts";
import { presets, teamName } from "@headroom/model";
import type { Event, Input, Policy, TeamRules } from "@headroom/model";
import { decayedUsageOf } from "@headroom/explain";
import { createEngine, replayEngine } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";

const HALF_LIFE_MS = 3_600_000;
const NAMES = ["a", "a/x", "b"] as const;
const PARENTS: Readonly<Record<string, string | null>> = { a: null, "a/x": "a", b: null };

type Move =
  | { readonly kind: "submit"; readonly team: (typeof NAMES)[number]; readonly gpus: number; readonly user: string }
  | { readonly kind: "pass"; readonly minutes: number }
  | { readonly kind: "end"; readonly index: number }
  | { readonly kind: "restart" };

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("submit" as const),
      team: fc.constantFrom(...NAMES),
      gpus: fc.integer({ min: 1, max: 4 }),
      user: fc.constantFrom("ann", "bob"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("pass" as const), minutes: fc.constantFrom(0, 1, 7, 60, 300) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("end" as const), index: fc.nat({ max: 8 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
);

/** Mean usage of every team, by exact integration. */
class Books {
  readonly #running = new Map<string, { readonly team: string; readonly gpus: number }>();
  readonly #teams = new Map<string, { readonly team: string; readonly gpus: number }>();
  readonly #average = new Map<string, number>();
  #nowMs = 0;

  take(event: Event): void {
    this.passTo(event.atMs);
    if (event.kind === "workloadSubmitted")
      this.#teams.set(event.workloadId, { team: event.spec.team, gpus: event.spec.gang.accelerators });
    else if (event.kind === "gangPlaced") {
      const found = this.#teams.get(event.workloadId);
      if (found !== undefined) this.#running.set(event.attemptId, found);
    } else if (event.kind === "attemptEnded") this.#running.delete(event.attemptId);
  }

  passTo(untilMs: number): void {
    const left = 2 ** (-(untilMs - this.#nowMs) / HALF_LIFE_MS);
    for (const name of NAMES) {
      let held = 0;
      for (const { team: of, gpus } of this.#running.values())
        for (let at: string | null = of; at !== null; at = PARENTS[at] ?? null) if (at === name) held += gpus;
      this.#average.set(name, held + ((this.#average.get(name) ?? 0) - held) * left);
    }
    this.#nowMs = untilMs;
  }

  average(name: string): number {
    return this.#average.get(name) ?? 0;
  }
}

class Play {
  readonly drive = new Drive();
  readonly books = new Books();
  #count = 0;

  constructor() {
    const preset = presets.get("default") as Policy;
    const policy = { ...preset, teams: { ...(preset.teams as TeamRules), usageHalfLifeMs: HALF_LIFE_MS } };
    this.#receive(
      applied({ sites: [site], pools: [pool("H100")], teams: NAMES.map((name) => team(name, PARENTS[name] ?? null)) }),
      command({ kind: "setPolicy", policy }),
      ...["n1", "n2"].map((id): Input => ({ kind: "nodeSeen", node: node(id, "H100") })),
    );
  }

  play(made: Move): void {
    if (made.kind === "submit") {
      const wanted = spec(`w${++this.#count}`, {
        team: made.team,
        gang: { accelerators: made.gpus },
        preemptible: true,
      });
      this.#receive({ ...command({ kind: "submitWorkload", spec: wanted }), actor: made.user });
    } else if (made.kind === "end") {
      const attempt = [...this.drive.engine.state.attempts.values()][made.index];
      if (attempt !== undefined) this.#receive({ kind: "attemptExited", attemptId: attempt.id, exits: [] });
    } else if (made.kind === "pass") this.#pass(this.drive.nowMs + made.minutes * 60_000);
    else this.drive.restart();
  }

  #pass(untilMs: number): void {
    for (;;) {
      const wake = this.drive.engine.nextWakeAtMs();
      this.drive.nowMs = Math.max(this.drive.nowMs, Math.min(wake ?? untilMs, untilMs));
      this.#receive({ kind: "tick" });
      if (wake === null || wake >= untilMs) return;
    }
  }

  #receive(...inputs: readonly Input[]): void {
    const { events, atMs } = this.drive.receive(...inputs);
    for (const event of events) this.books.take(event);
    this.books.passTo(atMs);
    for (const name of NAMES) {
      const held = decayedUsageOf(this.drive.engine, teamName(name))?.accelerators ?? Number.NaN;
      // The recorded average lags by at most one step, a sixteenth of a half-life; in that time sixteen accelerators
      // change it by less than one.
      expect(Math.abs(held - this.books.average(name)), `${name}: ${held}`).toBeLessThan(
        16 * (1 - 2 ** (-1 / 16)) + 0.02,
      );
    }
  }
}

describe("past use", () => {
  it("is what the journal says was held, the longer ago the less it counts, and the same after a restart", () => {
    fc.assert(
      fc.property(fc.array(move, { minLength: 5, maxLength: 40 }), (moves) => {
        const play = new Play();
        for (const each of moves) play.play(each);
        const replayed = createEngine();
        replayEngine(replayed, play.drive.groups);
        expect(replayed.digest()).toBe(play.drive.engine.digest());
      }),
      runsOf(100),
    );
  });

  it("is forgotten of users who are gone, and when nothing is left of it nothing wakes the engine for it", () => {
    const play = new Play();
    for (let user = 0; user < 50; user++) {
      play.play({ kind: "submit", team: "a", gpus: 1, user: `user ${user}` });
      play.play({ kind: "pass", minutes: 7 });
      play.play({ kind: "end", index: 0 });
    }
    expect(play.drive.engine.state.decayedUsage.size).toBeGreaterThan(50);
    for (let day = 0; day < 60; day++) {
      play.play({ kind: "pass", minutes: 1440 });
      play.play({ kind: "submit", team: "b", gpus: 1, user: "ann" });
      play.play({ kind: "end", index: 0 });
    }
    expect(play.drive.engine.state.decayedUsage.size).toBeLessThan(8);
  });
});
