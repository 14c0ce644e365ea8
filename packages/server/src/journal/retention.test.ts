import { afterEach, beforeEach, expect, it } from "vitest";
import { journalDirectory, openHome, removeDirectory, temporaryDirectory } from "../driver/testing/bench-home.ts";
import { submit, testSpec } from "../driver/testing/requests.ts";
import { openForReading } from "@headroom/journal/internals";
import { JournalReader } from "@headroom/journal/internals";
import { redecideJournal, verifyJournal } from "@headroom/journal/internals";

let home: string;
beforeEach(() => {
  home = temporaryDirectory();
});
afterEach(() => removeDirectory(home));

function roundsKept(): { count: number; first: number; bytes: number } {
  const database = openForReading(journalDirectory(home));
  const rounds = [...new JournalReader(database).rounds()];
  database.close();
  return {
    count: rounds.length,
    first: rounds[0]?.round ?? 0,
    bytes: rounds.reduce((total, { inputs }) => total + inputs.length, 0),
  };
}

it("cuts old inputs, keeps the newest, and keeps every event", async () => {
  const limits = { roundsBytesMax: 400_000, checkpointBytes: 100_000 };
  const { driver, close } = await openHome(home, { journal: limits });
  for (let index = 0; index < 1_500; index++) {
    await driver.command(submit(testSpec(`w${index}`, { env: { FILLER: "x".repeat(500) } })));
  }
  await close();
  const { count, first, bytes } = roundsKept();
  expect(first).toBeGreaterThan(1);
  expect(first + count - 1).toBe(1_500);
  // Recorded inputs are removed when the log is folded. Between two folds they can exceed the limit by the inputs that
  // arrive.
  expect(bytes).toBeLessThan(limits.roundsBytesMax + limits.checkpointBytes);
  expect(bytes).toBeGreaterThan(limits.roundsBytesMax / 2);
  expect(verifyJournal(journalDirectory(home)).sequence).toBe(1_500);
  expect(() => redecideJournal(journalDirectory(home))).toThrow(`begin at round ${first}`);
});

it("writes rounds that recorded nothing with the next group, or by themselves when many have gathered", async () => {
  const { driver, close } = await openHome(home);
  const unknown = {
    kind: "stopWorkload",
    actor: "test",
    idempotencyKey: null,
    workloadId: "none",
  } as unknown as Parameters<typeof driver.command>[0];
  for (let index = 0; index < 10; index++) expect(await driver.command(unknown)).toMatchObject({ kind: "rejected" });
  expect(driver.status()).toMatchObject({ roundCount: 10, syncCount: 0 });
  await driver.command(submit(testSpec("one")));
  expect(driver.status()).toMatchObject({ roundCount: 11, syncCount: 1, groupCount: 1 });
  expect(roundsKept().count).toBe(11);
  for (let index = 0; index < 1_024; index++) await driver.command(unknown);
  expect(driver.status()).toMatchObject({ roundCount: 1_035, syncCount: 2, groupCount: 1 });
  for (let index = 0; index < 3; index++) await driver.command(unknown);
  await close();
  expect(roundsKept().count).toBe(1_038);
  expect(redecideJournal(journalDirectory(home))).toMatchObject({ roundCount: 1_038, groupCount: 1 });
});
