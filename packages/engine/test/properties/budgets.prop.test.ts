/**
 * Generated lives of teams with budgets. An account equals the sum over the journal, which is computed here
 * independently; recorded events say when a budget is used up; a replay and a restart give the same accounts. `Drive`
 * checks every invariant too.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runsOf, sliceOf } from "../../../../tools/testing/rotating.ts";
import { accountOf } from "@headroom/explain";
import { presets, teamName } from "@headroom/model";
import type { Budget, Event, Input } from "@headroom/model";
import { createEngine, replayEngine } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PARENTS: Readonly<Record<string, string | null>> = { lab: null, "lab/a": "lab", "lab/b": "lab", other: null };
const NAMES = Object.keys(PARENTS);
/** Micro-dollars for one accelerator-hour. */
const PRICE = 2_500_000;
/** Maximum number of wake-ups: far more than the budgets of four teams need in twenty days. */
const WAKES_MAX = 1000;

const budget = fc
  .record({
    gpuHours: fc.option(fc.integer({ min: 1, max: 60 }), { nil: null }),
    usd: fc.integer({ min: 1, max: 200 }),
    period: fc.constantFrom("month" as const, "total" as const),
    over: fc.constantFrom("warn" as const, "hold" as const, "stop" as const),
  })
  .map(({ gpuHours, usd, period, over }): Budget => {
    const bound = gpuHours === null ? { microUsd: usd * 1_000_000 } : { gpuHours };
    return { ...bound, period, over };
  });

const move = fc.oneof(
  fc.record({
    kind: fc.constant("submit" as const),
    team: fc.constantFrom(...NAMES),
    gpus: fc.integer({ min: 1, max: 4 }),
    share: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("budget" as const), team: fc.constantFrom(...NAMES), budget }),
  fc.record({ kind: fc.constant("pass" as const), hours: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constant("days" as const), days: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant("end" as const), index: fc.nat(5) }),
  fc.record({ kind: fc.constant("restart" as const) }),
);
type Move = typeof move extends fc.Arbitrary<infer Made> ? Made : never;

/** Usage of one team by the journal since its budget was declared; an attempt counts from its placement to its end. */
class Books {
  readonly #running = new Map<string, { readonly team: string; readonly gpus: number; sinceMs: number }>();
  readonly #specs = new Map<string, { readonly team: string; readonly gpus: number }>();
  readonly #periods = new Map<string, Budget["period"]>();
  readonly #spent = new Map<string, number>();
  /** Accelerator-hours by team and day (UTC). */
  readonly #days = new Map<string, Map<number, number>>();
  readonly #sinceMs = new Map<string, number>();
  #nowMs = 0;

  take(event: Event): void {
    this.passTo(event.atMs);
    if (event.kind === "workloadSubmitted") {
      const { gang, team: of } = event.spec;
      this.#specs.set(event.workloadId, { team: of, gpus: (gang.accelerators * (gang.shareMilli ?? 1000)) / 1000 });
    } else if (event.kind === "gangPlaced") {
      const found = this.#specs.get(event.workloadId);
      if (found !== undefined) this.#running.set(event.attemptId, { ...found, sinceMs: event.atMs });
    } else if (event.kind === "attemptEnded") this.#running.delete(event.attemptId);
    else if (event.kind === "teamDefined" && event.team.budget !== undefined) {
      this.#periods.set(event.team.name, event.team.budget.period);
      if (!this.#spent.has(event.team.name)) {
        this.#spent.set(event.team.name, 0);
        this.#days.set(event.team.name, new Map());
        this.#sinceMs.set(event.team.name, event.atMs);
      }
    }
  }

  /** Advances in steps that end at the ends of days and months. */
  passTo(untilMs: number): void {
    while (this.#nowMs < untilMs) {
      const at = new Date(this.#nowMs);
      const monthEndMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
      const day = Math.floor(this.#nowMs / DAY_MS);
      const stepEndMs = Math.min(untilMs, monthEndMs, (day + 1) * DAY_MS);
      for (const { team: of, gpus } of this.#running.values())
        for (let name: string | null = of; name !== null; name = PARENTS[name] ?? null)
          this.#use(name, day, (gpus * (stepEndMs - this.#nowMs)) / HOUR_MS);
      if (stepEndMs === monthEndMs)
        for (const [name, period] of this.#periods) if (period === "month") this.#spent.set(name, 0);
      this.#nowMs = stepEndMs;
    }
  }

  #use(name: string, day: number, hours: number): void {
    const days = this.#days.get(name);
    if (days === undefined) return;
    this.#spent.set(name, (this.#spent.get(name) ?? 0) + hours);
    days.set(day, (days.get(day) ?? 0) + hours);
  }

  /**
   * Mean usage per day since the start of the day a week ago, or since the budget was declared; `null`: less than an
   * hour.
   */
  perDay(name: string): number | null {
    const firstDay = Math.floor(this.#nowMs / DAY_MS) - 7;
    const sinceMs = Math.max(firstDay * DAY_MS, this.#sinceMs.get(name) ?? this.#nowMs);
    if (this.#nowMs - sinceMs < HOUR_MS) return null;
    const counted = [...(this.#days.get(name) ?? [])].filter(([day]) => day >= firstDay);
    return (counted.reduce((sum, [, hours]) => sum + hours, 0) * DAY_MS) / (this.#nowMs - sinceMs);
  }

  gpuHours(name: string): number | undefined {
    return this.#spent.get(name);
  }
}

class Play {
  readonly drive = new Drive();
  readonly books = new Books();
  #count = 0;

  constructor() {
    const policy = presets.get("fifo");
    if (policy === undefined) throw new Error("no preset fifo");
    this.#receive(
      applied({
        sites: [site],
        pools: [{ ...pool("H100"), priceMicroUsdPerHour: PRICE }],
        teams: NAMES.map((name) => team(name, PARENTS[name] ?? null)),
      }),
      ...["n1", "n2"].map((id): Input => ({ kind: "nodeSeen", node: node(id, "H100") })),
    );
  }

  play(made: Move): void {
    switch (made.kind) {
      case "submit": {
        const gang = made.share ? { accelerators: 1, shareMilli: 250 } : { accelerators: made.gpus };
        const wanted = spec(`w${++this.#count}`, { team: made.team, gang });
        return this.#receive(command({ kind: "submitWorkload", spec: wanted }));
      }
      case "budget": {
        const declared = { ...team(made.team, PARENTS[made.team] ?? null), budget: made.budget };
        return this.#receive(applied({ teams: [declared] }));
      }
      case "pass":
        return this.#pass(this.drive.nowMs + made.hours * HOUR_MS);
      case "days":
        return this.#pass(this.drive.nowMs + made.days * 24 * HOUR_MS);
      case "end": {
        const attempt = [...this.drive.engine.state.attempts.values()][made.index];
        if (attempt !== undefined) this.#receive({ kind: "attemptExited", attemptId: attempt.id, exits: [] });
        return;
      }
      case "restart":
        return this.drive.restart();
    }
  }

  #pass(untilMs: number): void {
    for (let turns = 0; ; turns++) {
      expect(turns, `woken without end at ${this.drive.nowMs}`).toBeLessThan(WAKES_MAX);
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
    for (const name of NAMES) this.#compare(name);
  }

  #compare(name: string): void {
    const { engine } = this.drive;
    const account = accountOf(engine, teamName(name));
    const counted = this.books.gpuHours(name);
    expect(account === null).toBe(counted === undefined);
    if (account === null || counted === undefined) return;
    expect(account.gpuHours).toBeCloseTo(counted, 6);
    expect(account.microUsd / PRICE).toBeCloseTo(counted, 6);
    const perDay = this.books.perDay(name);
    const lately = account.forecast?.lately ?? null;
    if (account.forecast !== null) expect(lately === null).toBe(perDay === null);
    if (lately !== null) expect(lately.gpuHoursPerDay).toBeCloseTo(perDay ?? Number.NaN, 6);
    const { gpuHours, microUsd } = engine.state.teams.get(teamName(name))?.budget ?? {};
    const isOver =
      counted >= (gpuHours ?? Number.POSITIVE_INFINITY) || counted * PRICE >= (microUsd ?? Number.POSITIVE_INFINITY);
    // Times are exact to one millisecond of at most 16 accelerators.
    const slack = (16 * 1) / HOUR_MS;
    const isNearly = Math.abs(counted - (gpuHours ?? (microUsd ?? 0) / PRICE)) <= slack;
    if (!isNearly) expect(account.isSpent, `${name}: ${counted}`).toBe(isOver);
  }
}

describe("budgets", () => {
  it("are kept to what the journal says, recorded in time and renewed", () => {
    let text = "";
    fc.assert(
      fc.property(fc.array(move, { minLength: 5, maxLength: 40 }), (moves) => {
        const play = new Play();
        for (const each of moves) play.play(each);
        const replayed = createEngine();
        replayEngine(replayed, play.drive.groups);
        expect(replayed.digest()).toBe(play.drive.engine.digest());
        text += play.drive.groups.map((group) => group.text).join("");
      }),
      runsOf(150),
    );
    for (const [kind, least] of Object.entries({ budgetCrossed: 30, budgetRenewed: 2, budgetSpent: 4 }))
      expect(text.split(`"${kind}"`).length, kind).toBeGreaterThan(sliceOf({ size: 150 }).least(least));
  });
});
