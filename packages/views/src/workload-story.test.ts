import { defaultPolicy, nodeId, teamName } from "@headroom/model";
import type { NodeId, Policy, WorkloadId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { eventText } from "./event-sentence.ts";
import { teamSharesOf } from "./eviction-text.ts";
import { SmallFleet } from "./testing/small-fleet.ts";
import { verdictView } from "./verdict-view.ts";
import { eventEnvelope } from "./wire-forms.ts";
import { readHistory } from "./workload-history.ts";
import { Story } from "./workload-story.ts";
import { workloadView } from "./workload-view.ts";

/** A fleet under a policy, shared by the teams `owner` (whose guarantee is the whole fleet) and `guest`. */
function sharedFleet(nodes: number, accelerators: number, policy: Policy = defaultPolicy): SmallFleet {
  const fleet = SmallFleet.withNodes(nodes, accelerators);
  const all = nodes * accelerators;
  fleet.command({ kind: "setPolicy", policy });
  fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { H100: all, accelerators: all } });
  fleet.define({ name: "guest", parent: null, limit: {} });
  return fleet;
}

function storyOf({ events }: SmallFleet, workloadId: string): string[] {
  const story = new Story(workloadId);
  return events.flatMap((event, index) => story.tell(eventEnvelope(index + 1, event))?.sentence ?? []);
}

describe("the story of a workload", () => {
  it("says by what right it gives way, and to whom a place was promised", () => {
    const fleet = sharedFleet(1, 8);
    const opportunisticJob = fleet.submit("loan", { team: "guest", gang: { accelerators: 8 }, preemptible: true });
    const [attemptId] = fleet.engine.state.workloads.get(opportunisticJob)?.activeAttempts ?? [];
    if (attemptId === undefined) throw new Error("the loan does not run");
    fleet.receive({ kind: "attemptRunning", attemptId });
    const own = fleet.submit("own", { team: "owner", gang: { accelerators: 8 } });

    expect(verdictView(fleet.engine, own)?.sentence).toMatch(/^Nominated: it starts on n0 as soon as /);
    expect(workloadView(fleet.engine.state, own)?.nominations).toMatchObject([{ task: 0, growth: false }]);
    fleet.receive({ kind: "attemptExited", attemptId, exits: [{ kind: "signalled", worker: 0, signal: "SIGTERM" }] });

    expect(storyOf(fleet, opportunisticJob)).toEqual([
      "ann submitted it.",
      "Attempt 1 was placed: 1 worker on n0.",
      "Attempt 1 started.",
      expect.stringMatching(
        /^It is evicted for workload \S+: reclaimed for a team below its entitlement\. Team guest /,
      ),
      "Attempt 1 is being stopped: reclaimed for a team below its entitlement.",
      "Attempt 1 ended: stopped, worker 0 was killed by SIGTERM.",
    ]);
    expect(storyOf(fleet, own)).toEqual([
      "ann submitted it.",
      expect.stringMatching(
        /^Capacity is freed for workload \S+ for its team's entitlement: attempt \S+ is stopped\. Team guest /,
      ),
      "It is nominated for 1 worker on n0, which are being freed.",
      "Attempt 1 was placed: 1 worker on n0.",
    ]);
  });

  it("says once what several attempts of one workload give, and where their team ends, as the rows of the plan do", () => {
    const fleet = sharedFleet(1, 8);
    const opportunisticJob = fleet.submit("loan", {
      taskCount: 4,
      team: "guest",
      gang: { accelerators: 2 },
      preemptible: true,
    });
    for (const attemptId of fleet.engine.state.workloads.get(opportunisticJob)?.activeAttempts ?? [])
      fleet.receive({ kind: "attemptRunning", attemptId });
    const own = fleet.submit("own", { team: "owner", gang: { accelerators: 6 } });

    const story = new Story(opportunisticJob);
    const lines = fleet.events.map((event, index) => story.tell(eventEnvelope(index + 1, event)));
    const told = lines.find((line) => line?.plan !== undefined);
    if (told?.plan === undefined) throw new Error("nobody gives way");
    const rows = teamSharesOf(told.plan).filter(({ side }) => side === "gives");
    expect(rows).toHaveLength(3);
    const [first, last] = [rows[0], rows[2]];
    expect(told.sentence).toBe(
      `3 of its attempts are evicted for workload ${own}: reclaimed for a team below its entitlement. ` +
        `Team guest goes from ${first?.before} to ${last?.after} of its entitlement. Team owner goes from 0% to 75% of its entitlement.`,
    );
    expect(rows.map(({ after }) => after)).toEqual([rows[1]?.before, rows[2]?.before, "about 100%"]);
    expect(storyOf(fleet, own).join("\n")).toContain(
      `Team guest goes from ${first?.before} to ${last?.after} of its entitlement.`,
    );
  });

  it("tells who leaves for another team from who moves for it, whose team holds as much as before", () => {
    const fleet = sharedFleet(2, 3);
    const opportunisticJob = fleet.submit("loan", {
      taskCount: 6,
      team: "guest",
      gang: { accelerators: 1 },
      preemptible: true,
    });
    const opportunisticJobs = [...(fleet.engine.state.workloads.get(opportunisticJob)?.activeAttempts ?? [])];
    for (const attemptId of opportunisticJobs) fleet.receive({ kind: "attemptRunning", attemptId });
    const isOn = (node: string) => (id: (typeof opportunisticJobs)[number]) =>
      fleet.engine.state.attempts.get(id)?.workers[0]?.node === node;
    for (const attemptId of [opportunisticJobs.find(isOn("n0")), opportunisticJobs.find(isOn("n1"))])
      if (attemptId !== undefined)
        fleet.receive({ kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 0 }] });
    const own = fleet.submit("own", { team: "owner", gang: { accelerators: 3 } });

    const teamShares =
      "Team guest goes from 133% to 100% of its entitlement. Team owner goes from 0% to 50% of its entitlement.";
    expect(storyOf(fleet, own)[1]).toMatch(
      /^Capacity is freed for workload \S+ for its team's entitlement: 2 attempts \(attempt \S+ is stopped, attempt \S+ migrates\)\. /,
    );
    expect(storyOf(fleet, opportunisticJob).join("\n")).toContain(
      `It is evicted for workload ${own}: reclaimed for a team below its entitlement. ` +
        `It migrates for workload ${own}. ${teamShares}`,
    );
    const story = new Story(own);
    const plans = fleet.events.flatMap((event, index) => story.tell(eventEnvelope(index + 1, event))?.plan ?? []);
    expect(plans.flatMap(teamSharesOf).map(({ who, before, after }) => [who, before, after])).toEqual([
      [expect.stringMatching(/^\S+$/), "133%", "100%"],
      [expect.stringMatching(/^\S+, migrates$/), "100%", "100%"],
      [own, "0%", "50%"],
    ]);
  });

  it("is read from the events, of one attempt too, with the plans and the standing of both sides", async () => {
    const fleet = sharedFleet(1, 8);
    const opportunisticJob = fleet.submit("loan", { team: "guest", gang: { accelerators: 8 }, preemptible: true });
    const [attemptId] = fleet.engine.state.workloads.get(opportunisticJob)?.activeAttempts ?? [];
    if (attemptId === undefined) throw new Error("the loan does not run");
    fleet.receive({ kind: "attemptRunning", attemptId });
    const own = fleet.submit("own", { team: "owner", gang: { accelerators: 8 } });
    fleet.receive({ kind: "attemptExited", attemptId, exits: [] });
    const client = {
      async *events({ from = 1 }: { readonly from?: number | "next" | undefined } = {}) {
        for (let at = Number(from); at <= fleet.events.length; at++) {
          const event = fleet.events[at - 1];
          if (event !== undefined) yield eventEnvelope(at, event);
        }
      },
    };
    const past = { submittedAtMs: 1_000, attempts: [], head: fleet.events.length };
    const given = await readHistory(client, { ...past, workloadId: opportunisticJob, attemptId });
    const [plan] = given.items.flatMap((item) => item.plan ?? []);
    expect(plan).toMatchObject({ workloadId: own, victims: [{ attemptId, team: "guest" }] });
    expect(plan === undefined ? [] : teamSharesOf(plan)).toMatchObject([
      { side: "gives", team: "guest", who: attemptId },
      { side: "gets", team: "owner", who: own, before: "0%", after: "100%" },
    ]);
    expect(given.items.map(({ sentence }) => sentence)).toEqual(storyOf(fleet, opportunisticJob).slice(1));

    const taken = await readHistory(client, { ...past, workloadId: own });
    expect(taken.items.map(({ attemptIds, plan: mine }) => [attemptIds, mine !== undefined])).toEqual([
      [[], false],
      [[`${own}.1`], true],
      [[`${own}.1`], false],
      [[`${own}.1`], false],
    ]);
    expect(taken).toMatchObject({ isCut: false, attempts: [{ id: `${own}.1`, task: 0, number: 1 }] });
    await expect(readHistory(client, { ...past, workloadId: own, attemptId })).rejects.toMatchObject({
      code: "unknownAttempt",
    });
  });

  it("names the window, the reservation or the notice that work makes way for", () => {
    const fleet = SmallFleet.withNodes(3, 8);
    fleet.define({ name: "guests", parent: null, limit: {} });
    const works = ["a", "b", "c"].map((name) => fleet.submit(name, { gang: { accelerators: 8 } }));
    const nodeOf = (work: WorkloadId): NodeId => {
      const [attempt] = workloadView(fleet.engine.state, work)?.attempts ?? [];
      return nodeId(attempt?.workers[0]?.node ?? "");
    };
    const [kept, held, lent] = works.map(nodeOf) as [NodeId, NodeId, NodeId];
    const times = { startMs: 60_000, endMs: 120_000 };
    fleet.apply({
      calendar: [
        { kind: "maintenance", name: "upgrade", ...times, nodes: [kept], reason: "new firmware" },
        { kind: "reservation", name: "demo", ...times, nodes: [held], team: teamName("guests") },
      ],
    });
    fleet.command({ kind: "noticeNode", nodeId: lent, gone: { atMs: 60_000 } });
    fleet.nowMs = 59_500;
    fleet.receive({ kind: "tick" });

    expect(works.map((work) => storyOf(fleet, work).at(-1))).toEqual([
      "Attempt 1 is being stopped: it is stopped for maintenance window upgrade (new firmware).",
      "Attempt 1 is being stopped: it is stopped for reservation demo.",
      `Attempt 1 is being stopped: it is stopped for the notice on node ${lent}.`,
    ]);
    const stops = fleet.events.filter(({ kind }) => kind === "attemptStopRequested");
    expect(stops.map((event) => eventText(eventEnvelope(1, event).event).sentence)).toContainEqual(
      expect.stringMatching(/^Attempt \S+ is being stopped: it is stopped for reservation demo\.$/),
    );
    const [attempt] = works;
    if (attempt === undefined) throw new Error("nothing was submitted");
    expect(workloadView(fleet.engine.state, attempt)?.attempts).toMatchObject([
      { stop: { reason: "nodeDrained", closedBy: { kind: "maintenance", name: "upgrade" } } },
    ]);
    fleet.finish(attempt, 143);
    expect(workloadView(fleet.engine.state, attempt)?.attempts[0]).toMatchObject({
      phase: "ended",
      stopReason: "nodeDrained",
      closedBy: { kind: "maintenance", name: "upgrade", reason: "new firmware" },
    });
  });

  it("says what did not come of work that was cancelled for it", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const first = fleet.submit("first", { retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 } });
    const next = fleet.submit("next", { after: [{ workload: "first", on: "ok" }] });
    fleet.finish(first, 1);
    expect(storyOf(fleet, next).at(-1)).toBe(
      `It ended: cancelled. Dependency failed: it was to start once ${first} succeeded, but that workload ended otherwise.`,
    );
  });

  it("tells how an elastic gang grows and shrinks", () => {
    // A strategy that evicts single workers of elastic gangs.
    const fleet = sharedFleet(2, 4, { ...defaultPolicy, strategy: "kai" });
    const gang = { workers: 2, minWorkers: 1, accelerators: 4 };
    const elastic = fleet.submit("elastic", { team: "guest", gang, preemptible: true });
    const [attemptId] = fleet.engine.state.workloads.get(elastic)?.activeAttempts ?? [];
    if (attemptId === undefined) throw new Error("it does not run");
    fleet.receive({ kind: "attemptRunning", attemptId });
    fleet.submit("own", { team: "owner", gang: { accelerators: 4 } });
    expect(workloadView(fleet.engine.state, elastic)?.attempts).toMatchObject([{ workers: [{}], terminating: [{}] }]);
    fleet.receive({ kind: "workersLeft", attemptId });

    const story = storyOf(fleet, elastic);
    expect(story).toContain("It grows by 1 worker on n1.");
    expect(story.filter((line) => line.startsWith("It is shrunk to 1 worker for workload "))).toHaveLength(1);
    expect(story.slice(-2)).toEqual([
      "It shrinks to 1 worker: reclaimed for a team below its entitlement.",
      "Its stopped workers have ended.",
    ]);
  });
});
