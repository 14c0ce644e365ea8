import { accountOf } from "@headroom/explain";
import { attemptId, teamName } from "@headroom/model";
import type { WorkloadId } from "@headroom/model";
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { redecideJournal, verifyJournal } from "@headroom/journal/internals";
import type { SequencedEvent } from "./driver.ts";
import { BATCH_INPUTS_MAX, INBOX_COMMANDS_MAX } from "./inbox.ts";
import {
  journalDirectory,
  openHome,
  registerFleet,
  removeDirectory,
  temporaryDirectory,
  untilEvent,
} from "./testing/bench-home.ts";
import type { OpenHome } from "./testing/bench-home.ts";
import { submit, submittedId, testSpec } from "./testing/requests.ts";

let home: string;
let open: OpenHome[];

async function opened(
  ...options: Parameters<typeof openHome> extends [string, ...infer Rest] ? Rest : never
): Promise<OpenHome> {
  const result = await openHome(home, ...options);
  open.push(result);
  return result;
}

beforeEach(() => {
  home = temporaryDirectory();
  open = [];
});

afterEach(async () => {
  for (const each of open) await each.close();
  removeDirectory(home);
});

describe("the driver", () => {
  it("runs what was submitted and tells it in durable events", async () => {
    const first = await opened();
    await registerFleet(first);
    const id = submittedId(await first.driver.command(submit(testSpec("one"))));
    await untilEvent(first.driver, ({ kind }) => kind === "workloadEnded");
    expect(
      await first.driver.read(({ state }) => [...state.workloads.values()].map((each) => [each.id, each.phase])),
    ).toEqual([[id, "succeeded"]]);
    const kinds: string[] = [];
    const abort = new AbortController();
    for await (const { sequence, event } of first.driver.events(1, abort.signal)) {
      expect(sequence).toBe(kinds.push(event.kind));
      if (event.kind === "workloadEnded") abort.abort();
    }
    expect(kinds).toEqual([
      "siteDefined",
      "poolDefined",
      "nodeJoined",
      "workloadSubmitted",
      "gangPlaced",
      "attemptStarted",
      "attemptEnded",
      "workloadEnded",
    ]);
  });

  it("goes on after a clean restart as if it had never stopped", async () => {
    const first = await opened();
    await registerFleet(first);
    const answered = await first.driver.command(submit(testSpec("one"), "key-1"));
    await untilEvent(first.driver, ({ kind }) => kind === "workloadEnded");
    await first.close();
    const second = await opened();
    expect(await second.driver.command(submit(testSpec("one"), "key-1"))).toMatchObject({
      kind: "accepted",
      result: { workloadId: submittedId(answered) },
    });
    await second.driver.command(submit(testSpec("two")));
    await second.close();
    const { sequence, chain, digestCount } = verifyJournal(journalDirectory(home));
    expect(digestCount).toBeGreaterThan(0);
    expect(redecideJournal(journalDirectory(home))).toMatchObject({ sequence, chain });
    expect(second.logged.some((line) => /to event (\d+), from \1 on, /.test(line))).toBe(true);
  });

  it("makes one sync of everything that arrived meanwhile", async () => {
    const { driver } = await opened();
    const count = 2_000;
    await Promise.all(Array.from({ length: count }, (_, index) => driver.command(submit(testSpec(`w${index}`)))));
    const { syncCount, commandCount, commandsPerSync } = driver.status();
    expect(commandCount).toBe(count);
    expect(syncCount).toBeLessThanOrEqual(2 + Math.ceil(count / BATCH_INPUTS_MAX));
    expect(commandsPerSync).toBeGreaterThan(300);
  });

  it("refuses commands beyond its inbox and keeps the ones it took", async () => {
    const { driver } = await opened();
    const answers = await Promise.allSettled(
      Array.from({ length: INBOX_COMMANDS_MAX + 100 }, (_, index) => driver.command(submit(testSpec(`w${index}`)))),
    );
    const refused = answers.filter(({ status }) => status === "rejected");
    expect(refused.length).toBe(100);
    expect(refused[0]).toMatchObject({ reason: { code: "overloaded", retryable: true } });
    expect(await driver.read(({ state }) => state.workloads.size)).toBe(INBOX_COMMANDS_MAX);
    expect(driver.status()).toMatchObject({ rejectedOverloadCount: 100, inboxLength: 0 });
  });

  it("shows a read nothing that is not durable", async () => {
    const seen: number[] = [];
    const holding = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    let isHolding = false;
    const { driver } = await opened({
      onPoint: (point) => {
        if (point !== "in-append" || isHolding) return undefined;
        isHolding = true;
        held.resolve();
        return holding.promise;
      },
    });
    const answer = driver.command(submit(testSpec("one")));
    await held.promise;
    const read = driver.read(({ state }) => state.workloads.size).then((size) => seen.push(size));
    await new Promise(setImmediate);
    expect(seen).toEqual([]);
    expect(driver.status().sequence).toBe(0);
    holding.resolve();
    await answer;
    await read;
    expect(seen).toEqual([1]);
  });

  it("gives a reader who starts late or reads slowly every event once and in order", async () => {
    const { driver } = await opened();
    const total = 12_000;
    for (let done = 0; done < total; done += 3_000) {
      await Promise.all(
        Array.from({ length: 3_000 }, (_, index) => driver.command(submit(testSpec(`w${done + index}`)))),
      );
    }
    const abort = new AbortController();
    let expected = 1;
    for await (const { sequence, event } of driver.events(1, abort.signal)) {
      expect(sequence).toBe(expected++);
      expect(event).toMatchObject({ kind: "workloadSubmitted", workloadId: `w${sequence}` });
      if (sequence === total) abort.abort();
    }
    expect(expected).toBe(total + 1);
  });

  it("reads the groups that mention a workload without reading the others", async () => {
    const { driver } = await opened();
    const total = 6_000;
    for (let done = 0; done < total; done += 1_000) {
      const batch = Array.from({ length: 1_000 }, (_, index) => driver.command(submit(testSpec(`w-${done + index}`))));
      await Promise.all(batch);
    }
    const wanted = submittedId(await driver.command(submit(testSpec("wanted"))));
    await driver.command({
      kind: "stopWorkload",
      actor: "test",
      idempotencyKey: null,
      workloadId: wanted as WorkloadId,
    });
    const all: SequencedEvent[] = [];
    const head = driver.status().sequence;
    for await (const each of driver.events(1, new AbortController().signal)) {
      all.push(each);
      if (each.sequence === head) break;
    }
    const mentioned: SequencedEvent[] = [];
    for await (const each of driver.mentions(1, `"${wanted}"`)) mentioned.push(each);
    const names = (events: readonly SequencedEvent[]): SequencedEvent[] =>
      events.filter(({ event }) => JSON.stringify(event).includes(`"${wanted}"`));
    expect(names(mentioned)).toEqual(names(all));
    expect(names(mentioned).length).toBeGreaterThan(1);
    expect(mentioned.length).toBeLessThan(all.length / 2);
  });

  it("ends event streams when it closes and refuses commands from then on", async () => {
    const { driver } = await opened();
    await driver.command(submit(testSpec("one")));
    const stream = driver.events(2, new AbortController().signal)[Symbol.asyncIterator]();
    const next = stream.next();
    await driver.close();
    expect(await next).toMatchObject({ done: true });
    await expect(driver.command(submit(testSpec("two")))).rejects.toMatchObject({ code: "closing", retryable: true });
  });

  it("ends event streams that are reading the journal when it closes", async () => {
    const first = await opened();
    await first.driver.command(submit(testSpec("one")));
    await first.close();
    // After a restart the event feed has no events in memory, so every reader first reads the journal.
    const { driver } = await opened();
    const steps = Array.from({ length: 8 }, () =>
      driver.events(1, new AbortController().signal)[Symbol.asyncIterator]().next(),
    );
    await driver.close();
    for (const step of await Promise.allSettled(steps)) expect(step.status).toBe("fulfilled");
  });

  it("answers what it took before it closed", async () => {
    const { driver } = await opened();
    const answers = Array.from({ length: 700 }, (_, index) => driver.command(submit(testSpec(`w${index}`))));
    await driver.close();
    expect((await Promise.all(answers)).every(({ kind }) => kind === "accepted")).toBe(true);
  });

  it("wakes the engine when time alone has something to do", async () => {
    const first = await opened();
    await registerFleet(first);
    await first.driver.command(submit(testSpec("long", { run: "hold", walltimeMs: 30 })));
    await untilEvent(first.driver, (event) => event.kind === "attemptStopRequested");
    await untilEvent(first.driver, (event) => event.kind === "workloadEnded");
    await first.close();
    expect(redecideJournal(journalDirectory(home)).groupCount).toBeGreaterThan(4);
  });

  it("shows a read the present, however long nothing has happened, and records nothing for it", async () => {
    let wallMs = 1_000_000_000_000;
    const { driver } = await opened({
      clock: { wallMs: () => wallMs, monotonicMs: () => wallMs, bootMs: () => wallMs },
    });
    const budget = { gpuHours: 100, period: "total", over: "hold" } as const;
    const team = { name: teamName("ml"), parent: null, limit: {}, budget };
    const declared = { sites: [], pools: [], teams: [team], workloads: [] };
    await driver.command({ kind: "apply", actor: "test", idempotencyKey: null, ...declared });
    const told = () => driver.read((engine) => accountOf(engine, team.name)?.atMs);
    expect(await told()).toBe(wallMs);
    const { sequence } = driver.status();
    wallMs += 3 * 3_600_000;
    expect(await Promise.all([told(), told()])).toEqual([wallMs, wallMs]);
    const { roundCount } = driver.status();
    wallMs += 500;
    expect(await told()).toBe(wallMs - 500);
    expect(driver.status()).toMatchObject({ sequence, roundCount });
  });

  it("pauses decisions while the clock is a year ahead, expires nothing, and goes on once it is corrected", async () => {
    const began = 1_000_000_000_000;
    const now = { wallMs: began, monotonicMs: 0 };
    const { driver } = await opened({
      clock: { wallMs: () => now.wallMs, monotonicMs: () => now.monotonicMs, bootMs: () => now.monotonicMs },
    });
    await driver.command(submit(testSpec("one", { run: "hold", walltimeMs: 3_600_000 })));
    const { sequence } = driver.status();
    now.wallMs += 365 * 24 * 3_600_000;
    await expect(driver.command(submit(testSpec("two")))).rejects.toMatchObject({ code: "clockJumped" });
    expect(await driver.read(({ state }) => state.workloads.size)).toBe(1);
    void driver.observe({ kind: "attemptRunning", attemptId: attemptId("w9.1") });
    while (driver.status().paused === null) await new Promise(setImmediate);
    expect(driver.status()).toMatchObject({ sequence, paused: expect.stringContaining("8,760 h") });
    now.wallMs = began + 5_000;
    now.monotonicMs += 5_000;
    await driver.command(submit(testSpec("two")));
    expect(driver.status().paused).toBe(null);
  });

  it("records a digest once it is quiet, so that a start after a crash has one to compare", async () => {
    const { driver } = await opened({ digestQuietMs: 1 });
    await driver.command(submit(testSpec("one")));
    const { syncCount } = driver.status();
    // The digest is the only append without a command.
    while (driver.status().syncCount === syncCount) await new Promise(setImmediate);
    expect(verifyJournal(journalDirectory(home))).toMatchObject({ sequence: 1, digestCount: 1 });
  });

  it("makes snapshots in the background and starts from the newest", async () => {
    const first = await opened({ snapshots: { everyEvents: 100, pauseMinMs: 0 } });
    for (let batch = 0; batch < 20; batch++) {
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => first.driver.command(submit(testSpec(`w${batch}-${index}`)))),
      );
    }
    // A snapshot thread starts in tens of milliseconds, so the test repeats the commands until one has finished.
    while (first.driver.status().snapshot === null) await first.driver.command(submit(testSpec("more")));
    const snapshot = first.driver.status().snapshot?.sequence ?? 0;
    expect(snapshot).toBeGreaterThanOrEqual(100);
    const names = () => readFileSync(path.join(journalDirectory(home), "snapshots", `${snapshot}.snapshot`), "latin1");
    expect(JSON.parse(names().split("\n")[0] ?? "")).toMatchObject({ sequence: snapshot });
    expect(first.fatal).toEqual([]);
  });
});
