import type { Event, EventEnvelope } from "@headroom/protocol";
import { eventText, eventTitles, isInternalEvent } from "@headroom/views";
import { describe, expect, it } from "vitest";
import { eventNames, teamOfEvent, withLocalTimes, withNames, workloadOfEvent } from "./event-names.ts";

const common = { version: 1, atMs: 0 };
const placed = {
  ...common,
  kind: "gangPlaced",
  attemptId: "w3.2",
  workloadId: "w3",
  task: 0,
  number: 2,
  acceleratorType: "h100",
  workers: [{ node: "n1", accelerators: "0" }],
} as Event;
const submitted = {
  ...common,
  kind: "workloadSubmitted",
  workloadId: "w3",
  actor: "ada",
  spec: { name: "talks", team: "research/nlp" },
} as unknown as Event;
const started = { ...common, kind: "attemptStarted", attemptId: "w3.2" } as Event;
const envelopes = [submitted, placed].map((event, index): EventEnvelope => ({ sequence: index + 1, event }));

describe("names of events", () => {
  const names = eventNames({ events: envelopes, nodes: [], newest: [] });

  it("leaves paths as they are", () => {
    const sentence = "Attempt w3.2 has a checkpoint at /data/w3/w3.2/step-7 in w3.2.log.";
    expect(withNames(sentence, names)).toBe("Attempt 2 of talks has a checkpoint at /data/w3/w3.2/step-7 in w3.2.log.");
  });

  it("puts names where sentences have ids", () => {
    expect(withNames(eventText(started).sentence, names)).toBe("Attempt 2 of talks started.");
    expect(withNames(eventText(placed).sentence, names)).toMatch(/^Attempt 2 of talks was placed/);
  });

  it("tells the tasks of a batch array apart", () => {
    const array = { ...submitted, workloadId: "w4", spec: { name: "sweep", team: "research" } } as unknown as Event;
    const inTask = { ...placed, attemptId: "w4.7.2", workloadId: "w4", task: 7 } as Event;
    const known = eventNames({
      events: [array, inTask].map((event, index) => ({ sequence: index, event })),
      nodes: [],
      newest: [],
    });
    expect(withNames(eventText(inTask).sentence, known)).toMatch(/^Attempt 2 of task 7 of sweep was placed/);
    expect(withNames("Attempt w4.3.1 started.", known)).toBe("Attempt 1 of task 3 of sweep started.");
  });

  it("writes instants in the reader's time zone", () => {
    const text = withLocalTimes("from 2026-01-06T17:00:00Z until 2026-01-06T20:00:00.500Z.", (atMs) => `@${atMs}`);
    expect(text).toBe(`from @${Date.UTC(2026, 0, 6, 17)} until @${Date.UTC(2026, 0, 6, 20, 0, 0, 500)}.`);
  });

  it("finds workload and team of an attempt's event", () => {
    expect([workloadOfEvent(started, names), teamOfEvent(started, names)]).toEqual(["w3", "research/nlp"]);
    const unknown = { ...common, kind: "attemptStarted", attemptId: "w9.1" } as Event;
    expect([workloadOfEvent(unknown, names), teamOfEvent(unknown, names)]).toEqual([null, null]);
  });

  it("gives every kind a title that is not its name in the journal", () => {
    for (const [kind, { title }] of Object.entries(eventTitles)) expect(title).not.toBe(kind);
    expect(isInternalEvent({ kind: "commandAnswered" })).toBe(true);
    expect(isInternalEvent({ kind: "attemptEnded" })).toBe(false);
  });
});
