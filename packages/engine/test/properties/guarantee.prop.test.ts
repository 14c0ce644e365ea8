/**
 * A guarantee never makes a team worse off. Generated worlds run under the default policy. A round without the
 * guarantee starts work of a team. From the same state, the round with the guarantee refuses none of this work because
 * of a quota or because of its `preemptible` setting. The oracle checks every batch: no feasible request waits beside
 * idle, unreserved capacity within its limits, and work with `preemptible: aboveGuarantee` is evicted for guarantees
 * only.
 */
import { describe, expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { defaultPolicy, draw } from "@headroom/model";
import type { Input, Policy, Team, Workload, WorkloadId, WorkloadSpec } from "@headroom/model";
import { explain } from "@headroom/explain";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";

const { seeds, least } = sliceOf({ size: 150 });
/** Ten times what a world takes on a quiet machine. */
const timeout = Math.max(150_000, seeds.length * 400);

class Luck {
  #count = 0;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  below(bound: number): number {
    return draw(this.#seed, ++this.#count, "guarantee") % bound;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** `org`: teams `a` and `b` are below it. */
const teamsOf = (guarantees: Readonly<Record<string, number>>, hasOrg: boolean): readonly Team[] =>
  [...(hasOrg ? ["org"] : []), "a", "b", "c"].map((name) => {
    const accelerators = guarantees[name];
    const known = hasOrg && (name === "a" || name === "b") ? team(name, "org") : team(name);
    return accelerators === undefined ? known : { ...known, guarantee: { accelerators } };
  });

function randomSpec(luck: Luck, name: string): WorkloadSpec {
  const priority = luck.pick([0, 0, 0, -100, 100]);
  const said = luck.pick([
    {},
    {},
    { preemptible: "aboveGuarantee" as const },
    { preemptible: true },
    { preemptible: false },
    { preemptible: false },
  ]);
  const gang = { accelerators: luck.pick([1, 1, 2, 4, 8]), workers: luck.pick([1, 1, 1, 2]) };
  return spec(name, { team: luck.pick(["a", "b", "c"]), priority, gang, ...said });
}

/** Applies the same inputs to every drive of a world, up to the point where the drives differ. */
function prepared(
  seed: number,
  policy: Policy,
  guarantees?: Readonly<Record<string, number>>,
): { readonly drive: Drive; readonly luck: Luck } {
  const luck = new Luck(seed);
  const drive = new Drive();
  const others = guarantees ?? (luck.below(3) === 0 ? { c: luck.pick([2, 4, 8]) } : {});
  const hasOrg = guarantees === undefined && seed % 3 === 0;
  const ofOrg = seed % 2 === 0 ? { org: 1 + (seed % 7), b: seed % 4 } : {};
  const nodes = Array.from({ length: 1 + luck.below(3) }, (_, at) => node(`n${at}`, "H100", { acceleratorCount: 8 }));
  drive.receive(
    applied({
      sites: [site],
      pools: [pool("H100")],
      teams: teamsOf(hasOrg ? { ...others, ...ofOrg } : others, hasOrg),
    }),
    command({ kind: "setPolicy", policy }),
    ...nodes.map((each): Input => ({ kind: "nodeSeen", node: each })),
  );
  for (let step = 0; step < 3 + luck.below(6); step++) {
    drive.nowMs += 1_000 * luck.below(30);
    drive.receive(command({ kind: "submitWorkload", spec: randomSpec(luck, `w-${step}`) }));
    const running = [...drive.engine.state.attempts.values()];
    if (running.length > 0 && luck.below(4) === 0) {
      const exits = [{ kind: "exited", worker: 0, code: 0 } as const];
      drive.receive({ kind: "attemptExited", attemptId: luck.pick(running).id, exits });
    }
  }
  return { drive, luck };
}

/**
 * Runs the round with the new work; returns the team's workloads that it started or nominated, and those that it
 * refused because of the guarantee.
 */
function lastRound(
  seed: number,
  guarantee: number | null,
  policy = defaultPolicy,
): { readonly given: Set<WorkloadId>; readonly refused: Set<WorkloadId> } {
  const { drive, luck } = prepared(seed, policy);
  const current = drive.engine.state.teams.get(team("a").name) as Team;
  const next = Array.from({ length: 1 + luck.below(3) }, (_, at) => randomSpec(luck, `new-${at}`));
  const changed = guarantee === null ? current : { ...current, guarantee: { accelerators: guarantee } };
  const inputs = next.map((each) => command({ kind: "submitWorkload", spec: { ...each, team: current.name } }));
  const { events } = drive.receive(applied({ teams: [changed] }), ...inputs);
  const given = new Set<WorkloadId>();
  for (const event of events) {
    if (event.kind === "gangPlaced") given.add(event.workloadId);
    if (event.kind === "placementNominated") given.add(event.nomination.workloadId);
  }
  const refused = new Set<WorkloadId>();
  for (const { id, spec: each } of drive.engine.state.workloads.values()) {
    const verdict = explain(drive.engine, id);
    const reasons = verdict.kind === "blocked" ? verdict.reasons : [];
    if (each.team === current.name && reasons.some((reason) => reason.kind === "teamLimit")) refused.add(id);
  }
  return { given, refused };
}

/** Accelerators of the team's non-preemptible attempts and nominations. */
function fixedOf({ engine: { state } }: Drive, name: string): number {
  let sum = 0;
  for (const { workloadId: id, workers } of [...state.attempts.values(), ...state.nominations.values()]) {
    const { team: of, gang, preemptible } = (state.workloads.get(id) as Workload).spec;
    if (of === name && preemptible === false) sum += workers.length * gang.accelerators;
  }
  return sum;
}

describe("a guarantee", () => {
  it(`never makes a team worse off, in ${seeds.length} generated worlds`, { timeout }, () => {
    let started = 0;
    for (const seed of seeds) {
      const without = lastRound(seed, null);
      const guarantee = 1 + (draw(seed, 0, "amount") % 12);
      const { refused } = lastRound(seed, guarantee);
      started += without.given.size;
      const worse = [...without.given].filter((id) => refused.has(id));
      expect(worse, `seed ${seed}, guarantee ${guarantee}`).toEqual([]);
    }
    // The test is not vacuous: most rounds start work.
    expect(started).toBeGreaterThan(least(150));
  });

  it(
    `stays covered, whatever other teams run without preemption, in ${seeds.length} generated worlds`,
    { timeout },
    () => {
      let above = 0;
      for (const seed of seeds) {
        const guarantees = { b: 1 + (seed % 3), c: 2 + (seed % 4) };
        const { drive } = prepared(seed, defaultPolicy, guarantees);
        const { nodes } = drive.engine.state;
        const fixed = { a: fixedOf(drive, "a"), b: fixedOf(drive, "b"), c: fixedOf(drive, "c") };
        if (fixed.a > 0 || fixed.b > guarantees.b || fixed.c > guarantees.c) above++;
        const claimed = fixed.a + Math.max(fixed.b, guarantees.b) + Math.max(fixed.c, guarantees.c);
        expect(claimed, `seed ${seed}: ${JSON.stringify(fixed)}`).toBeLessThanOrEqual(8 * nodes.size);
      }
      // In many worlds non-preemptible work runs above guarantees.
      expect(above).toBeGreaterThan(least(37));
    },
  );

  it("made teams worse off where work that says nothing stays within it", () => {
    const policy: Policy = {
      ...defaultPolicy,
      teams: { order: [], usageHalfLifeMs: null, ...defaultPolicy.teams, nonPreemptible: "guarantee" },
      eviction: { preemptible: { belowPriority: 0, otherwise: "never" }, checkpointTimeoutMs: 120_000 },
    };
    const worse = Array.from({ length: 40 }, (_, at) => at + 1).filter((seed) => {
      const { given } = lastRound(seed, null, policy);
      const { refused } = lastRound(seed, 1, policy);
      return [...given].some((id) => refused.has(id));
    });
    expect(worse.length).toBeGreaterThan(0);
  });
});
