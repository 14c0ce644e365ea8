/** Tables with a maximum size do not exceed it; the oldest entry is removed first. */
import { describe, expect, it } from "vitest";
import { utf8Decode, utf8Encode, workloadId } from "@headroom/model";
import type { Input } from "@headroom/model";
import { checkInvariants } from "@headroom/engine-oracle";
import {
  ANSWERS_KEPT,
  ENDED_WORKLOADS_KEPT,
  WAITING_WORKLOADS_MAX,
  createEngine,
  replayEngine,
  restoreEngine,
} from "../src/index.ts";
import type { Engine, JournalGroup } from "../src/index.ts";
import { ENDED_ENTRIES_KEPT } from "../src/state/ended-entries.ts";
import { stateDigest } from "../src/state/digest.ts";
import { decodeSnapshot, encodeSnapshot } from "../src/state/snapshot.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

const submit = (name: string, key: string | null = null): Input =>
  command({ kind: "submitWorkload", spec: spec(name) }, key);
const stop = (ordinal: number): Input => command({ kind: "stopWorkload", workloadId: workloadId(`w${ordinal}`) });

function receive(engine: Engine, inputs: readonly Input[]): JournalGroup[] {
  const { group } = engine.receive(inputs, 0);
  engine.advance();
  return group === null ? [] : [group];
}

describe("bounds", () => {
  it("a pipeline may be longer than calls go deep: who waits for an end that never comes is over, to the last", () => {
    const engine = createEngine();
    const length = 20_000;
    const chain = Array.from({ length }, (_, index) => {
      const after = index === 0 ? {} : { after: [{ workload: `w${index}`, on: "ok" as const }] };
      return command({ kind: "submitWorkload", spec: { ...spec(`link-${index}`), ...after } });
    });
    receive(engine, chain);
    receive(engine, [stop(1)]);
    const phases = [...engine.state.workloads.values()].map(({ phase }) => phase);
    expect(phases).toHaveLength(ENDED_WORKLOADS_KEPT < length ? ENDED_WORKLOADS_KEPT : length);
    expect(new Set(phases)).toEqual(new Set(["cancelled"]));
  });

  it("ended workloads are kept up to a number, newest ends first, live and after a restart", () => {
    const engine = createEngine();
    const count = ENDED_WORKLOADS_KEPT + 50;
    const groups = receive(
      engine,
      Array.from({ length: count }, (_, index) => submit(`w${index}`)),
    );
    // The last submitted workload ends first, so that the order of ends differs from the order of submissions.
    groups.push(
      ...receive(
        engine,
        Array.from({ length: count }, (_, index) => stop(count - index)),
      ),
    );
    expect(engine.state.workloads.size).toBe(ENDED_WORKLOADS_KEPT);
    expect(engine.state.workloads.has(workloadId(`w${count}`))).toBe(false);
    expect(engine.state.workloads.has(workloadId("w1"))).toBe(true);
    expect(checkInvariants(engine)).toEqual([]);
    const restored = restoreEngine(engine.snapshot());
    const replayed = createEngine();
    replayEngine(replayed, groups);
    for (const each of [engine, restored, replayed]) {
      receive(each, [submit("one more"), stop(count + 1)]);
      expect(each.state.workloads.has(workloadId(`w${count - 50}`))).toBe(false);
      expect(each.digest()).toBe(engine.digest());
      expect(checkInvariants(each)).toEqual([]);
    }
  });

  it("windows that are over are known again up to a number", () => {
    const drive = new Drive();
    drive.receive(applied({ sites: [site], pools: [pool("H100")] }));
    const windows = Array.from({ length: ENDED_ENTRIES_KEPT + 2 }, (_, index) => ({
      kind: "maintenance" as const,
      name: `window-${index}`,
      pool: pool("H100").name,
      startMs: 1_000,
      endMs: 2_000 + index,
    }));
    const actionsOf = (calendar: readonly (typeof windows)[number][]): readonly string[] =>
      drive.receive(applied({ calendar })).replies.flatMap((reply) => {
        if (reply.kind === "rejected") return [reply.rejection.code];
        return reply.result.kind === "applied" ? reply.result.changes.map(({ action }) => action) : [];
      });
    actionsOf(windows);
    drive.passTo(10_000);
    drive.nowMs = 10_000;
    drive.receive({ kind: "tick" });
    expect(drive.engine.state.endedEntries.size).toBe(ENDED_ENTRIES_KEPT);
    expect(actionsOf(windows.slice(0, 2))).toEqual(["windowOver"]);
    expect(new Set(actionsOf(windows.slice(2)))).toEqual(new Set(["unchanged"]));
    expect(checkInvariants(drive.engine)).toEqual([]);
    const replayed = createEngine();
    replayEngine(replayed, drive.groups);
    for (const each of [restoreEngine(drive.engine.snapshot()), replayed])
      expect(each.digest()).toBe(drive.engine.digest());
  });

  it("answers are kept up to a number: a retry after that is a new command", () => {
    const engine = createEngine();
    const resume = (index: number): Input => {
      const key = `key-${index}`;
      return command({ kind: "setPolicy", policy: engine.state.policy }, key);
    };
    receive(engine, [submit("first", "old")]);
    receive(
      engine,
      Array.from({ length: ANSWERS_KEPT - 1 }, (_, index) => resume(index)),
    );
    receive(engine, [submit("first", "old")]);
    expect(engine.state.submittedCount).toBe(1);
    receive(engine, [resume(ANSWERS_KEPT)]);
    expect(engine.state.answers.size).toBe(ANSWERS_KEPT);
    receive(engine, [submit("first", "old")]);
    expect(engine.state.submittedCount).toBe(2);
  });

  it("a queue that is full refuses and says so", () => {
    const stored = JSON.parse(utf8Decode(createEngine().snapshot())) as object;
    const full = restoreEngine(utf8Encode(JSON.stringify({ ...stored, submittedCount: WAITING_WORKLOADS_MAX })));
    const { replies } = full.receive([submit("too much")], 0);
    expect(replies).toMatchObject([
      { kind: "rejected", rejection: { code: "queueFull", waitingCount: WAITING_WORKLOADS_MAX } },
    ]);
  });

  it("work that runs does not count as waiting", () => {
    const drive = new Drive();
    drive.receive(applied({ sites: [site], pools: [pool("H100")] }), { kind: "nodeSeen", node: node("n1", "H100") });
    drive.receive(submit("runs"));
    expect(drive.engine.state.attempts.size).toBe(1);
    const stored = JSON.parse(utf8Decode(drive.engine.snapshot())) as object;
    const full = restoreEngine(utf8Encode(JSON.stringify({ ...stored, submittedCount: WAITING_WORKLOADS_MAX })));
    const { replies } = full.receive([submit("last"), submit("too much")], drive.engine.state.nowMs);
    expect(replies).toMatchObject([
      { kind: "accepted" },
      { kind: "rejected", rejection: { code: "queueFull", waitingCount: WAITING_WORKLOADS_MAX } },
    ]);
  });

  it("a snapshot that is too long for one text is read in pieces", () => {
    const engine = createEngine();
    receive(
      engine,
      Array.from({ length: 10_000 }, (_, index) => submit(`w${index} "{[,é\\`, `key ${index}`)),
    );
    receive(engine, [stop(1), stop(10_000)]);
    const bytes = engine.snapshot();
    for (const textBytesMax of [1, 10_000]) {
      const state = decodeSnapshot(bytes, textBytesMax);
      expect(stateDigest(state)).toBe(engine.digest());
      expect(encodeSnapshot(state)).toEqual(bytes);
    }
    expect(() => decodeSnapshot(bytes.subarray(0, -1), 1)).toThrow("the snapshot is damaged");
  });

  it("of a workload's attempts the newest are kept", () => {
    const drive = new Drive();
    const pools = applied({ sites: [site], pools: [pool("H100")] });
    drive.receive(pools, { kind: "nodeSeen", node: node("n1", "H100") });
    const retries = { max: 40, backoffMs: 0, backoffMaxMs: 0 };
    drive.receive(command({ kind: "submitWorkload", spec: spec("flaky", { retries }) }));
    for (let number = 1; number <= 20; number++) {
      const [id] = drive.engine.state.attempts.keys();
      if (id === undefined) throw new Error("nothing runs");
      drive.receive({ kind: "attemptExited", attemptId: id, exits: [{ kind: "exited", worker: 0, code: 1 }] });
    }
    const kept = drive.engine.state.workloads.get(workloadId("w1"))?.endedAttempts.map(({ number }) => number);
    expect(kept).toEqual(Array.from({ length: 16 }, (_, index) => index + 5));
  });
});

describe("the contract of the driver", () => {
  it("a batch before the last one is known to be durable is refused", () => {
    const engine = createEngine();
    engine.receive([submit("a")], 0);
    expect(() => engine.receive([], 0)).toThrow("receive before advance");
    engine.advance();
    expect(engine.receive([], 0).group).toBeNull();
    // The batch recorded nothing, so there is no group to sync.
    expect(engine.receive([], 0).group).toBeNull();
  });

  it("time never goes back, and is whole milliseconds", () => {
    const engine = createEngine();
    receive(engine, []);
    expect(engine.receive([], 5000).atMs).toBe(5000);
    expect(engine.receive([submit("a")], 3000)).toMatchObject({ atMs: 5000, events: [{ atMs: 5000 }] });
    engine.advance();
    for (const wrong of [0.5, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => engine.receive([], wrong)).toThrow("is not an instant in whole milliseconds");
  });
});
