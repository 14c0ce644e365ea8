import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AttemptId } from "@headroom/model";
import { openForWriting, takeLeadership } from "@headroom/journal/internals";
import { afterEach, beforeEach, expect, it } from "vitest";
import { INBOX_FACTS_BOUND, INBOX_FACTS_MAX } from "./inbox.ts";
import { journalDirectory, openHome, removeDirectory, temporaryDirectory } from "./testing/bench-home.ts";
import { submit, testSpec } from "./testing/requests.ts";

let home: string;
beforeEach(() => {
  home = temporaryDirectory();
});
afterEach(() => removeDirectory(home));

/** A SQLite shell in another process, which changes the database. */
function meddle(sql: string): void {
  const connection = new DatabaseSync(path.join(journalDirectory(home), "journal.db"));
  connection.exec(sql);
  connection.close();
}

it("stops for good when an append fails: nothing is answered, read or told from then on", async () => {
  const inAppend = Promise.withResolvers<void>();
  let appends = 0;
  const { driver, fatal, logged, close } = await openHome(home, {
    onPoint: (point) => (point === "in-append" && ++appends === 2 ? inAppend.resolve() : undefined),
  });
  await driver.command(submit(testSpec("one")));
  meddle("DROP TABLE groups");
  const stream = driver.events(2, new AbortController().signal)[Symbol.asyncIterator]();
  const next = stream.next();
  const two = driver.command(submit(testSpec("two")));
  const reading = inAppend.promise.then(() => driver.read(({ state }) => state.workloads.size));
  await expect(two).rejects.toMatchObject({ code: "journalFailed" });
  await expect(reading).rejects.toMatchObject({ code: "journalFailed" });
  await expect(driver.command(submit(testSpec("three")))).rejects.toMatchObject({ code: "journalFailed" });
  await expect(driver.read(() => 1)).rejects.toMatchObject({ code: "journalFailed" });
  expect(await next).toMatchObject({ done: true });
  expect(fatal.length).toBe(1);
  expect(logged.at(-1)).toContain("no such table: groups");
  expect(driver.status()).toMatchObject({ phase: "failed", sequence: 1 });
  await close();
});

it("stops for good when another control plane has taken the journal over: what it decides then is neither recorded nor done", async () => {
  const { driver, fatal, close } = await openHome(home);
  await driver.command(submit(testSpec("one")));
  const database = openForWriting(journalDirectory(home), "full");
  const epoch = takeLeadership(database);
  database.close();
  await expect(driver.command(submit(testSpec("two")))).rejects.toMatchObject({
    code: "journalEpochOld",
    message: expect.stringContaining(`epoch ${epoch}`),
  });
  expect(fatal).toMatchObject([{ code: "journalEpochOld" }]);
  await close();
  const next = await openHome(home);
  expect(await next.driver.read(({ state }) => [...state.workloads.values()].map(({ spec }) => spec.name))).toEqual([
    "one",
  ]);
  await next.close();
});

it("stops when a background fold finds that the journal no longer restores", async () => {
  const failed = Promise.withResolvers<Error>();
  const { driver, close } = await openHome(home, {
    snapshots: { everyEvents: 20, pauseMinMs: 0 },
    onFatal: failed.resolve,
  });
  for (let index = 0; index < 10; index++) await driver.command(submit(testSpec(`w${index}`)));
  meddle("UPDATE groups SET text = replace(text, 'w3', 'x3')");
  for (let index = 10; index < 20; index++) await driver.command(submit(testSpec(`w${index}`)));
  expect(await failed.promise).toMatchObject({
    code: "journalDamaged",
    message: expect.stringContaining("past event 2"),
  });
  await expect(driver.command(submit(testSpec("more")))).rejects.toMatchObject({ code: "journalFailed" });
  await close();
});

it("takes a broken invariant as the end of the process, and starts again by replay", async () => {
  const { driver, fatal, close } = await openHome(home);
  await driver.command(submit(testSpec("one")));
  const nonsense = { kind: "nonsense", actor: "test", idempotencyKey: null } as unknown as Parameters<
    typeof driver.command
  >[0];
  await expect(driver.command(nonsense)).rejects.toMatchObject({ code: "bug" });
  expect(fatal.length).toBe(1);
  await close();
  const again = await openHome(home);
  expect(again.driver.status().sequence).toBe(1);
  await again.close();
});

it("asks the sources of facts to wait when its inbox is full, and takes every fact", async () => {
  const { driver, close } = await openHome(home);
  let longest = 0;
  for (let index = 1; index <= 2 * INBOX_FACTS_MAX; index++) {
    const room = driver.observe({ kind: "attemptRunning", attemptId: `w${index}.1` as AttemptId });
    if (index % 1_024 === 0) longest = Math.max(longest, driver.status().inboxLength);
    await room;
  }
  expect(longest).toBeLessThanOrEqual(INBOX_FACTS_MAX);
  await driver.command(submit(testSpec("one")));
  expect(driver.status().inboxLength).toBe(0);
  await close();
});

it("ends when a source of facts does not wait, so that the facts are read again at the next start", async () => {
  const { driver, fatal, close } = await openHome(home);
  for (let index = 0; index <= INBOX_FACTS_BOUND; index++)
    void driver.observe({ kind: "attemptRunning", attemptId: "w1.1" as AttemptId });
  expect(fatal.map(({ message }) => message)).toEqual([
    `${INBOX_FACTS_BOUND} facts wait: a source of facts did not pause (now attemptRunning)`,
  ]);
  expect(driver.status()).toMatchObject({ phase: "failed", inboxLength: 0 });
  await close();
});

it("lets the sources of facts go on when it fails", async () => {
  const { driver, close } = await openHome(home);
  let room: Promise<void> | undefined;
  for (let index = 0; index < INBOX_FACTS_MAX; index++)
    room = driver.observe({ kind: "attemptRunning", attemptId: `w${index}.1` as AttemptId });
  expect(room).toBeInstanceOf(Promise);
  await Promise.all([room, close()]);
  expect(driver.observe({ kind: "attemptRunning", attemptId: "w1.1" as AttemptId })).toBeUndefined();
});
