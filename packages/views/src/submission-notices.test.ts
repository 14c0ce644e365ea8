import { defaultPolicy, nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { changesWithNotices, noticesInOrder, submissionNotices } from "./submission-notices.ts";
import { SmallFleet, specOf } from "./testing/small-fleet.ts";
import { workloadView } from "./workload-view.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const messages = (fleet: SmallFleet, more: Parameters<typeof specOf>[1]): readonly string[] =>
  submissionNotices(fleet.engine, { spec: specOf("job", more), actor: "ann" }).map(
    ({ kind, message }) => `${kind}: ${message}`,
  );

describe("notices about a submission", () => {
  it("say what could be reclaimed, with the work of the team that is submitted before it", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.define({ name: "owner", parent: null, guarantee: { accelerators: 4 }, limit: {} });
    fleet.define({ name: "guest", parent: null, guarantee: { accelerators: 3 }, limit: {} });
    const spec = specOf("job", { team: "guest", gang: { accelerators: 2 } });
    const submissions = [spec, { ...spec, name: "next" }].map((each) => ({ spec: each, actor: "ann" }));
    const [first, second] = noticesInOrder(fleet.engine, submissions);
    expect(first).toEqual([]);
    expect(second).toMatchObject([
      {
        kind: "reclaimable",
        message: "1 of 2 accelerators would be above the guarantee of team guest; other teams can reclaim them.",
      },
    ]);
    const third = noticesInOrder(fleet.engine, [...submissions, { spec: { ...spec, name: "last" }, actor: "ann" }])[2];
    expect(third).toEqual([]);
    const change = { kind: "workload", action: "created", workloadId: null } as const;
    const team = { kind: "team", name: "guest", action: "created", workloadId: null } as const;
    const changes = [team, { ...change, name: "job" }, { ...change, name: "next" }];
    expect(changesWithNotices(changes, [first!, second!]).map(({ notices }) => notices?.length)).toEqual([
      undefined,
      undefined,
      1,
    ]);
  });

  it("say once to a user what could be reclaimed from a team", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.define({ name: "owner", parent: null, guarantee: { accelerators: 4 }, limit: {} });
    fleet.define({ name: "guest", parent: null, guarantee: { accelerators: 1 }, limit: {} });
    const spec = specOf("job", { team: "guest", gang: { accelerators: 2 } });
    const noted = (actor: string): string[] => submissionNotices(fleet.engine, { spec, actor }).map(({ kind }) => kind);
    expect(noted("ann")).toEqual(["reclaimable"]);
    fleet.command({ kind: "submitWorkload", spec });
    expect(noted("ann")).toEqual([]);
    expect(noted("bob")).toEqual(["reclaimable"]);
  });

  it.each([
    [1_000, 0],
    [60_000, 0],
    [30 * DAY_MS, 1],
  ])("name the interval of checkpoints only for work that lasts so long: %i ms", (walltimeMs, count) => {
    const fleet = SmallFleet.withNodes(4, 8);
    const found = messages(fleet, { walltimeMs, checkpointEvery: "auto", gang: { accelerators: 8 } });
    expect(found.filter((each) => each.startsWith("checkpointInterval"))).toHaveLength(count);
  });

  it("warn of long work that declares no checkpoints, and of none that is short or saves its work", () => {
    const fleet = SmallFleet.withNodes(4, 8);
    const long = { walltimeMs: 24 * HOUR_MS, gang: { accelerators: 8, workers: 4 } };
    expect(messages(fleet, long)).toEqual([
      "noCheckpoints: job may run for 1 d and declares no checkpoints: a failure or a preemption repeats all of its work. On 4 nodes a failure is expected every 65 d 23 h. If it writes checkpoints to HEADROOM_CHECKPOINT_DIR, declare them: checkpoint: { every: auto }.",
    ]);
    expect(messages(fleet, { gang: { accelerators: 8 } })[0]).toContain(
      "job has no walltime and declares no checkpoints: a failure or a preemption repeats all of its work. If it writes",
    );
    for (const quiet of [
      { walltimeMs: HOUR_MS, gang: { accelerators: 8 } },
      { gang: { accelerators: 1 } },
      { ...long, checkpointDir: "/ckpt" },
      { ...long, checkpointOnRequest: true as const },
      { ...long, checkpointEvery: HOUR_MS },
    ])
      expect(messages(fleet, quiet)).toEqual([]);
  });

  it("leave out checkpoints for work whose last run with this name was short", () => {
    const fleet = SmallFleet.withNodes(4, 8);
    const unbounded = { gang: { accelerators: 8 } };
    expect(messages(fleet, unbounded)).toHaveLength(1);
    const id = fleet.submit("job", unbounded);
    fleet.nowMs += 1_000;
    fleet.finish(id, 0);
    expect(messages(fleet, unbounded)).toEqual([]);
  });

  it("say which interval `auto` chooses, and why; recorded failures shorten it", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    const auto = { checkpointEvery: "auto" as const, checkpointCostMs: 20_000, gang: { accelerators: 8 } };
    const [before] = messages(fleet, auto);
    expect(before).toMatch(
      /^checkpointInterval: Checkpoints every \d+ h.*: on 1 node a failure is expected every 263 d 22 h, and a checkpoint stops the work for 20 s \(Daly's optimum; 0 node failures recorded in 0 node-days/,
    );
    const id = fleet.submit("runs", { retries: { max: 9, backoffMs: 0, backoffMaxMs: 0 }, ...auto });
    const effects: unknown[] = [];
    for (let day = 1; day <= 3; day++) {
      const attemptId = fleet.engine.state.workloads.get(id)!.activeAttempts[0]!;
      fleet.receive({ kind: "attemptRunning", attemptId });
      const { node } = fleet.engine.state.attempts.get(attemptId)!.workers[0]!;
      fleet.nowMs += DAY_MS;
      effects.push(...fleet.receive({ kind: "nodeUnreachable", nodeId: node, detail: "gone" }).effects);
      fleet.receive({ kind: "attemptLost", attemptId, detail: "gone" });
      const spec = fleet.engine.state.nodes.get(node)!;
      effects.push(...fleet.receive({ kind: "nodeSeen", node: { ...spec, id: nodeId(node) } }).effects);
      fleet.nowMs += 600_000;
      effects.push(...fleet.receive({ kind: "tick" }).effects);
    }
    const [after] = messages(fleet, auto);
    expect(after).toContain("3 node failures recorded in 3 node-days");
    expect(after).toContain("a failure is expected every 66 d 17 h");
    expect(workloadView(fleet.engine.state, id)?.checkpointInterval).toMatchObject({
      everyMs: expect.any(Number),
      sentence: expect.stringContaining("3 node failures"),
    });
    const launched = effects.filter((effect) => (effect as { kind: string }).kind === "launchGang");
    expect(launched.length).toBeGreaterThan(0);
    for (const launch of launched)
      expect((launch as { checkpointEveryMs?: number }).checkpointEveryMs).toBeGreaterThan(HOUR_MS);
  });
});
