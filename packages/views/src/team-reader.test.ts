import type { ReadonlyState } from "@headroom/engine";
import type { AttemptId, Event, WorkloadId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import type { ReadableTeams } from "./readable-teams.ts";
import { TeamReader } from "./team-reader.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const readable = new Set(["mine"]);
const readableEvent = (engine: SmallFleet["engine"], teams: ReadableTeams, event: Event): Event | null =>
  new TeamReader(() => teams).event(engine.state, event);
const withoutOthers = (state: ReadonlyState, teams: ReadableTeams, answer: unknown, given?: unknown): unknown =>
  new TeamReader(() => teams).answer(state, answer, given);

/** Two teams whose work shares four accelerators; `theirs` is the team that the reader may not see. */
function sharedFleet(): { fleet: SmallFleet; own: WorkloadId; other: WorkloadId } {
  const fleet = SmallFleet.withNodes(1, 4);
  fleet.team("mine", null);
  fleet.team("theirs", null);
  const own = fleet.submit("train", { team: "mine" });
  const other = fleet.submit("secret", { team: "theirs" });
  fleet.finish(other, 1);
  return { fleet, own, other };
}

describe("events for a reader of one team", () => {
  it("are those of its work, its team and the fleet", () => {
    const { fleet, own } = sharedFleet();
    const shown = fleet.events.flatMap((event) => readableEvent(fleet.engine, readable, event) ?? []);
    expect(shown.map(({ kind }) => kind)).toEqual([
      "siteDefined",
      "poolDefined",
      "nodeJoined",
      "teamDefined",
      "workloadSubmitted",
      "gangPlaced",
    ]);
    expect(shown.at(-1)).toMatchObject({ workloadId: own, attemptId: `${own}.1` });
    expect(fleet.events.filter((event) => readableEvent(fleet.engine, null, event) === event)).toEqual(fleet.events);
  });

  it("name no other work where both are in one event", () => {
    const { fleet, own, other } = sharedFleet();
    const victims = [own, other].map((id) => ({
      attemptId: `${id}.1` as AttemptId,
      keeps: 0,
      team: id === own ? "mine" : "theirs",
      teamShareBeforeMilli: 1,
      teamShareAfterMilli: 0,
    }));
    const plan = { version: 1, atMs: 1, task: 0, reason: "preempted", victims };
    const preempted = { ...plan, kind: "evictionPlanned", workloadId: other, preemptor: { team: "theirs" } } as unknown;
    expect(readableEvent(fleet.engine, readable, preempted as Event)).toMatchObject({
      workloadId: "hidden",
      preemptor: { team: "hidden" },
      victims: [
        { attemptId: `${own}.1`, team: "mine" },
        { attemptId: "hidden", team: "hidden" },
      ],
    });
    const forgotten = { ...(preempted as Event), workloadId: "w99" as WorkloadId } as Event;
    expect(readableEvent(fleet.engine, readable, forgotten)).toMatchObject({ workloadId: "hidden" });
    const estimates = [`${own}.1`, `${other}.1`].map((id) => [id, 1, 2]);
    const progress = { kind: "progressEstimated", version: 1, atMs: 1, estimates } as unknown as Event;
    expect(readableEvent(fleet.engine, readable, progress)).toMatchObject({ estimates: [[`${own}.1`, 1, 2]] });
  });
});

describe("a stream of events for a reader of one team", () => {
  it("reads the workloads once for each state, and follows changes of the teams", () => {
    const { fleet } = sharedFleet();
    let teams = readable;
    let readings = 0;
    const { state } = fleet.engine;
    const counted = {
      state: {
        ...state,
        get sequence(): number {
          return state.sequence;
        },
        get workloads() {
          readings++;
          return state.workloads;
        },
      },
    };
    const reader = new TeamReader(() => teams);
    const read = (): unknown[] => fleet.events.map((event) => reader.event(counted.state, event));
    const first = read();
    expect(first).toEqual(fleet.events.map((event) => readableEvent(fleet.engine, readable, event)));
    readings = 0;
    const again = Array.from({ length: 100 }, () => reader.event(counted.state, fleet.events[3] as Event));
    expect([again.at(-1), readings]).toEqual([first[3], 0]);
    const answers = ["w77", "w78", "w79"].map((id) =>
      reader.answer(counted.state, { detail: `no ${id} of theirs` }, [id]),
    );
    const asked = readings;
    expect(answers.at(-1)).toEqual({ detail: "no w79 of hidden" });
    reader.answer(counted.state, { detail: "no w80 of theirs" }, ["w80"]);
    expect(readings).toBe(asked);
    teams = new Set(["theirs"]);
    fleet.submit("later", { team: "theirs" });
    expect(read()).toEqual(fleet.events.map((event) => readableEvent(fleet.engine, teams, event)));
  });
});

describe("answers for a reader of one team", () => {
  const { fleet, own, other } = sharedFleet();
  const shown = (answer: unknown, given?: unknown): unknown =>
    withoutOthers(fleet.engine.state, readable, answer, given);

  it("keep words of the API, own names, and what the request says", () => {
    const answer = { kind: "theirs", sentence: `train waits for secret (${other}.1, ${own}.1) of theirs.` };
    expect(shown(answer)).toEqual({
      kind: "theirs",
      sentence: `train waits for hidden (hidden, ${own}.1) of hidden.`,
    });
    expect(shown({ detail: "There is no secret." }, ["secret"])).toEqual({ detail: "There is no secret." });
    const spec = { run: "python secret", env: { theirs: "secret" } };
    expect(shown({ spec })).toEqual({ spec });
    expect(shown({ heldByTeam: { theirs: 1 } })).toEqual({ heldByTeam: { hidden: 1 } });
    expect(withoutOthers(fleet.engine.state, null, answer)).toBe(answer);
  });

  it("keep their form whatever other teams call their work", () => {
    const { fleet: spoiled } = sharedFleet();
    const [node = ""] = spoiled.engine.state.nodes.keys();
    const words = ["items", "status", "code", "permissionDenied", "unknownTask", "withinTeam", "H100", node];
    for (const name of words) spoiled.submit(name, { team: "theirs" });
    const kept = (answer: unknown): unknown => withoutOthers(spoiled.engine.state, readable, answer);
    for (const answer of [
      { items: [{ id: node, pool: "H100", held: { H100: 1 } }], nextCursor: null },
      { status: 403, code: "permissionDenied", facts: { status: 1 } },
      { victims: [{ attemptId: "hidden", ground: "withinTeam" }] },
    ])
      expect(kept(answer)).toEqual(answer);
    expect(kept({ name: "items", team: "theirs" })).toEqual({ name: "hidden", team: "hidden" });
  });

  it("keep what the reader wrote, but not in predictions", () => {
    const answer = { changes: [{ name: "secret", forecast: { reason: "waits for secret" } }] };
    expect(shown(answer, [{ workloads: [{ name: "secret" }] }])).toEqual({
      changes: [{ name: "secret", forecast: { reason: "waits for hidden" } }],
    });
    expect(shown({ kind: "workloadChanged", workloadId: own, changes: { name: "secret" } })).toMatchObject({
      changes: { name: "secret" },
    });
    expect(shown({ kind: "checkpointRecorded", attemptId: `${own}.1`, path: "secret" })).toMatchObject({
      path: "secret",
    });
  });
});
