import type { AttemptId, Event, WorkloadId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { readableEvent, withoutOthers } from "./readable-teams.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const readable = new Set(["mine"]);

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
    expect(shown({ held: { theirs: 1 } })).toEqual({ held: { hidden: 1 } });
    expect(withoutOthers(fleet.engine.state, null, answer)).toBe(answer);
  });
});
