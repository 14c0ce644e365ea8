/**
 * Generated worlds with windows of every kind: no work is placed that may overlap a window that excludes it, running
 * work is stopped in time, and a replay and a restart have the same calendar. `Drive` checks every invariant too.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runsOf, sliceOf } from "../../../../tools/testing/rotating.ts";
import { nodeId, presets, teamName } from "@headroom/model";
import type { Attempt, CalendarEntry, CalendarItem, Input, NodeId, WorkloadSpec } from "@headroom/model";
import { createEngine, replayEngine } from "../../src/index.ts";
import type { Ready } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";

const MINUTE_MS = 60_000;
const NODES = ["n1", "n2", "n3", "n4"];

const entry = fc
  .record({
    name: fc.constantFrom("one", "two", "three"),
    kind: fc.constantFrom("maintenance" as const, "team" as const, "users" as const, "amount" as const),
    node: fc.constantFrom(...NODES),
    startMin: fc.integer({ min: 0, max: 200 }),
    lengthMin: fc.integer({ min: 1, max: 90 }),
  })
  .map(({ name, kind, node: of, startMin, lengthMin }): CalendarEntry => {
    const nodes = [of as NodeId];
    const common = { name, startMs: startMin * MINUTE_MS, endMs: (startMin + lengthMin) * MINUTE_MS };
    if (kind === "maintenance") return { kind, ...common, nodes };
    if (kind === "amount") return { kind: "reservation", ...common, accelerators: 6, team: teamName("a") };
    return {
      kind: "reservation",
      ...common,
      nodes,
      ...(kind === "team" ? { team: teamName("a") } : { users: ["eve"] }),
    };
  });

const move = fc.oneof(
  fc.record({
    kind: fc.constant("submit" as const),
    team: fc.constantFrom("a", "a/below", "b"),
    actor: fc.constantFrom("ann", "eve"),
    gpus: fc.constantFrom(1, 2, 3, 4, 4),
    workers: fc.integer({ min: 1, max: 2 }),
    runs: fc.boolean(),
    onNodeLoss: fc.constantFrom("replace" as const, "replace" as const, "restart" as const),
    walltimeMin: fc.option(fc.integer({ min: 1, max: 120 }), { nil: null }),
    graceMin: fc.integer({ min: 0, max: 5 }),
  }),
  fc.record({ kind: fc.constant("plan" as const), entry }),
  fc.record({ kind: fc.constant("unplan" as const), name: fc.constantFrom("one", "two") }),
  fc.record({ kind: fc.constant("pass" as const), minutes: fc.integer({ min: 1, max: 60 }) }),
  fc.record({ kind: fc.constant("end" as const), index: fc.nat(5) }),
  fc.record({
    kind: fc.constant("notice" as const),
    node: fc.constantFrom(...NODES),
    aheadMin: fc.constantFrom(0, 2, 30, 90),
    isCommand: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("withdraw" as const), node: fc.constantFrom(...NODES) }),
  fc.record({ kind: fc.constantFrom("lost" as const, "seen" as const), node: fc.constantFrom(...NODES) }),
  fc.record({ kind: fc.constant("hotSpares" as const), hotSpares: fc.constantFrom(0, 1, 1) }),
  fc.record({ kind: fc.constant("restart" as const) }),
);

const nodeOf = (id: string) => node(id, "H100", { acceleratorCount: 4 });

class Play {
  readonly drive = new Drive();
  #count = 0;

  constructor(policyName: string) {
    const policy = presets.get(policyName);
    if (policy === undefined) throw new Error(`no preset ${policyName}`);
    this.#receive(
      applied({ sites: [site], pools: [pool("H100")], teams: ["a", "b"].map((name) => team(name)) }),
      applied({ teams: [team("a/below", "a")] }),
      command({ kind: "setPolicy", policy }),
      ...NODES.map((id) => ({ kind: "nodeSeen" as const, node: nodeOf(id) })),
    );
  }

  play(made: typeof move extends fc.Arbitrary<infer Move> ? Move : never): void {
    const { state } = this.drive.engine;
    switch (made.kind) {
      case "submit":
        this.#receive({ ...command({ kind: "submitWorkload", spec: this.#spec(made) }), actor: made.actor });
        if (!made.runs) return;
        return this.#receive(
          ...[...state.attempts.keys()].map((id) => ({ kind: "attemptRunning" as const, attemptId: id })),
        );
      case "plan":
        return this.#receive(applied({ calendar: [made.entry] }));
      case "unplan":
        return this.#receive(command({ kind: "removeCalendarEntry", name: made.name }));
      case "pass":
        return this.#pass(this.drive.nowMs + made.minutes * MINUTE_MS);
      case "end": {
        const attempt = [...state.attempts.values()][made.index];
        if (attempt !== undefined) this.#receive({ kind: "attemptExited", attemptId: attempt.id, exits: [] });
        return;
      }
      case "notice": {
        const inMs = made.aheadMin * MINUTE_MS;
        if (made.isCommand)
          return this.#receive(command({ kind: "noticeNode", nodeId: nodeId(made.node), gone: { inMs } }));
        const goneAtMs = this.drive.nowMs + inMs;
        return this.#receive({ kind: "nodeNotice", nodeId: nodeId(made.node), goneAtMs });
      }
      case "withdraw":
        return this.#receive(command({ kind: "withdrawNotice", nodeId: nodeId(made.node) }));
      case "lost":
        return this.#receive({ kind: "nodeUnreachable", nodeId: nodeId(made.node), detail: "gone" });
      case "seen":
        return this.#receive({ kind: "nodeSeen", node: nodeOf(made.node) });
      case "hotSpares":
        return this.#receive(
          applied({ pools: [{ ...pool("H100"), ...(made.hotSpares === 0 ? {} : { hotSpares: made.hotSpares }) }] }),
        );
      case "restart":
        return this.drive.restart();
    }
  }

  #spec(made: {
    team: string;
    gpus: number;
    workers: number;
    walltimeMin: number | null;
    graceMin: number;
    onNodeLoss: "replace" | "restart";
  }): WorkloadSpec {
    return spec(`w${++this.#count}`, {
      team: made.team,
      gang: { workers: made.workers, accelerators: made.gpus },
      walltimeMs: made.walltimeMin === null ? null : made.walltimeMin * MINUTE_MS,
      graceTimeoutMs: made.graceMin * MINUTE_MS,
      onNodeLoss: made.onNodeLoss,
    });
  }

  #receive(...inputs: readonly Input[]): void {
    this.#look(this.drive.receive(...inputs));
  }

  #pass(untilMs: number): void {
    for (;;) {
      const wake = this.drive.engine.nextWakeAtMs();
      this.drive.nowMs = Math.max(this.drive.nowMs, Math.min(wake ?? untilMs, untilMs));
      this.#receive({ kind: "tick" });
      if (wake === null || wake >= untilMs) return;
    }
  }

  /**
   * Checks after every round that attempts which could still run when a window begins were stopped early enough for
   * their grace period.
   */
  #look({ atMs }: Ready): void {
    const { state } = this.drive.engine;
    for (const item of state.calendar.values()) {
      if (item.entry.kind === "tariff") continue;
      expect(item.begun === true).toBe(item.entry.startMs <= atMs);
      expect(item.entry.endMs).toBeGreaterThan(atMs);
      for (const attempt of state.attempts.values())
        if (this.#isInTheWay(item, attempt, atMs))
          expect(attempt.stop, `${attempt.id} in ${item.entry.name}`).not.toBeNull();
    }
  }

  #isInTheWay({ entry: planned, nodes }: CalendarItem, { workloadId, workers }: Attempt, atMs: number): boolean {
    if (planned.kind === "tariff") return false;
    const workload = this.drive.engine.state.workloads.get(workloadId);
    if (workload === undefined) throw new Error(`no workload ${workloadId}`);
    const { actor, spec: wanted } = workload;
    const isKept =
      planned.kind === "reservation" &&
      (planned.users?.includes(actor) === true || (planned.team !== undefined && wanted.team.startsWith("a")));
    const isThere = workers.some((worker) => (nodes ?? planned.nodes ?? []).includes(worker.node));
    return isThere && !isKept && planned.startMs - wanted.graceTimeoutMs <= atMs;
  }
}

describe("the calendar", () => {
  it("is kept in generated worlds, under plain, backfilling and evicting policies", () => {
    const { least } = sliceOf({ size: 600 });
    const seen = { began: 0, drained: 0, ahead: 0, taken: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom(...POLICIES),
        fc.array(move, { minLength: 10, maxLength: 50, size: "max" }),
        (policy, moves) => {
          const play = new Play(policy);
          for (const each of moves) play.play(each);
          const replayed = createEngine();
          replayEngine(replayed, play.drive.groups);
          expect(replayed.digest()).toBe(play.drive.engine.digest());
          const text = play.drive.groups.map((group) => group.text).join("");
          if (text.includes(`"windowBegan"`)) seen.began++;
          if (text.includes(`"nodeDrained"`)) seen.drained++;
          if (text.includes(`"ahead":true`)) seen.ahead++;
          if (text.includes(`"taken"`)) seen.taken++;
        },
      ),
      runsOf(600),
    );
    expect(seen.began).toBeGreaterThan(least(20));
    expect(seen.drained).toBeGreaterThan(least(1));
    expect(seen.ahead).toBeGreaterThan(least(0));
    expect(seen.taken).toBeGreaterThan(least(0));
  });
});

const POLICIES = [...presets.keys()];
