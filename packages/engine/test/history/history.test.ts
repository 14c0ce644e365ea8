/** Replays one journal of every version of the format. Also tests which journals are refused, and the messages. */
import { describe, expect, it } from "vitest";
import { chainAfter, newestVersion } from "@headroom/model";
import type { Event } from "@headroom/model";
import { checkInvariants } from "@headroom/engine-oracle";
import { createEngine, replayEngine, restoreEngine } from "../../src/index.ts";
import type { JournalGroup } from "../../src/index.ts";
import { eventKinds } from "../../src/apply/apply.ts";
import { historyFiles, recordedDigests } from "./history-files.ts";
import { recordLife } from "./recorded-life.ts";

const files = historyFiles();
const eventsOf = (groups: readonly JournalGroup[]): readonly Event[] =>
  groups.flatMap(({ text }) => JSON.parse(text) as readonly Event[]);

const life = recordLife();

describe("recorded journals", () => {
  it.each(files)("$name gives the state that it gave", ({ name, groups }) => {
    const engine = createEngine();
    replayEngine(engine, groups);
    expect(engine.state.chain).toBe(groups.at(-1)?.chain);
    expect(engine.digest()).toBe(recordedDigests()[name]);
    expect(checkInvariants(engine)).toEqual([]);
  });

  it.each(files)("$name goes on from its snapshot", ({ name, groups, snapshot, groupsBeforeSnapshot }) => {
    const engine = restoreEngine(snapshot);
    replayEngine(engine, groups.slice(groupsBeforeSnapshot));
    expect(engine.state.chain).toBe(groups.at(-1)?.chain);
    expect(engine.digest()).toBe(recordedDigests()[name]);
  });

  it("hold every kind of event in its current version: a new one needs a new recording", () => {
    const recorded = new Set(
      files.flatMap(({ groups }) => eventsOf(groups).map(({ kind, version }) => `${kind} ${version}`)),
    );
    const missing = eventKinds.filter((kind) => !recorded.has(`${kind} ${newestVersion(kind)}`));
    expect(missing).toEqual([]);
  });

  it("hold every outcome, every reason to stop and every reason to end", () => {
    const events = files.flatMap(({ groups }) => eventsOf(groups));
    const seen = new Set(
      events.flatMap((event) => {
        if (event.kind === "attemptEnded") return [event.outcome, event.exit?.kind ?? ""];
        if (event.kind === "attemptStopRequested") return [event.reason];
        return event.kind === "workloadEnded" ? [event.phase, event.reason.kind] : [];
      }),
    );
    const outcomes = ["succeeded", "failed", "stopped", "lost", "exited", "signalled"];
    const stops = ["cancelled", "walltimeExceeded", "nodeDrained", "nodeLost"];
    const ends = ["allTasksSucceeded", "tasksFailed", "retriesExhausted"];
    expect([...outcomes, ...stops, ...ends].filter((word) => !seen.has(word))).toEqual([]);
  });

  it("are made by a life that gives the same bytes whenever it is recorded", () => {
    const { groups, digest } = life;
    const again = recordLife();
    expect(again.digest).toBe(digest);
    expect(again.groups.map(({ text, chain }) => [text, chain])).toEqual(
      groups.map(({ text, chain }) => [text, chain]),
    );
  });
});

describe("a journal that cannot be read", () => {
  const { groups } = life;
  const refusal = (damaged: readonly JournalGroup[]) => () => replayEngine(createEngine(), damaged);
  /** Replaces the text of the first group, with a correct chain. */
  const withText = (text: string, count = 1): readonly JournalGroup[] => {
    const engine = createEngine();
    return [{ firstSequence: 1, count, text, chain: chainAfter(engine.state.chain, text) }];
  };

  it("of an unknown kind of event is refused by name", () => {
    expect(refusal(withText('[{"kind":"moonLanded","version":1,"atMs":0}]'))).toThrow(
      'the journal holds an event of kind "moonLanded", version 1, which this version of Headroom does not know; start the version that wrote it',
    );
  });

  it("of a newer version of an event is refused", () => {
    const text = JSON.stringify([{ kind: "teamRemoved", version: 2, atMs: 0, team: "x" }]);
    expect(refusal(withText(text))).toThrow('kind "teamRemoved", version 2, which this version');
  });

  it("with one letter changed is refused at its sequence", () => {
    const third = groups[2] as JournalGroup;
    const damaged = groups.with(2, { ...third, text: third.text.replace("ann", "bob") });
    expect(damaged[2]?.text).not.toBe(third.text);
    expect(refusal(damaged)).toThrow(
      new RegExp(
        `damaged at sequence ${third.firstSequence}: the hash chain gives \\w{32}, the journal says ${third.chain}`,
      ),
    );
  });

  it("with a group missing, twice or in another place is refused", () => {
    const [first, second, third] = groups as [JournalGroup, JournalGroup, JournalGroup];
    const gap = `a group starts at sequence ${third.firstSequence}, expected ${second.firstSequence}`;
    expect(refusal([first, third])).toThrow(`the journal is damaged: ${gap}`);
    expect(refusal([first, first])).toThrow(`starts at sequence 1, expected ${second.firstSequence}`);
    expect(refusal([second, first])).toThrow("expected 1");
  });

  it("with another number of events than it says, or none at all, is refused", () => {
    const [first] = groups as [JournalGroup];
    expect(refusal([{ ...first, count: first.count + 1 }])).toThrow(
      `${first.count} events, the journal says ${first.count + 1}`,
    );
    expect(refusal(withText("[{"))).toThrow("damaged at sequence 1: not JSON");
  });

  it("with time going backwards is refused", () => {
    const team = { name: "x", parent: null, limit: {} };
    const text = JSON.stringify([5, 4].map((atMs) => ({ kind: "teamDefined", version: 1, atMs, team })));
    expect(refusal(withText(text, 2))).toThrow("event 2 has an earlier time than its predecessor");
  });
});

describe("a snapshot that cannot be read", () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  it("of a newer format is refused", () => {
    expect(() => restoreEngine(bytes('{"format":99}'))).toThrow("the snapshot has format 99, this version reads");
    expect(() => restoreEngine(bytes("null"))).toThrow("the snapshot");
  });

  it("that is cut short is refused", () => {
    const whole = files[0]?.snapshot as Uint8Array;
    expect(() => restoreEngine(whole.slice(0, whole.length - 7))).toThrow("the snapshot is damaged: not JSON");
  });
});
