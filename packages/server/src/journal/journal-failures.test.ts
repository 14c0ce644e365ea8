import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
  statSync,
} from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chainAfter } from "@headroom/model";
import { sqliteJournal } from "@headroom/journal";
import { checkHistory, JournalReader, openForReading, verifyJournal } from "@headroom/journal/internals";
import {
  journalDirectory,
  openHome,
  registerFleet,
  removeDirectory,
  temporaryDirectory,
  untilEvent,
} from "../driver/testing/bench-home.ts";
import type { OpenHome } from "../driver/testing/bench-home.ts";
import { submit, testSpec } from "../driver/testing/requests.ts";

let home: string;
let open: OpenHome[];

beforeEach(() => {
  home = temporaryDirectory();
  open = [];
});

afterEach(async () => {
  for (const each of open) await each.close();
  removeDirectory(home);
});

async function opened(directory = home): Promise<OpenHome> {
  const result = await openHome(directory);
  open.push(result);
  return result;
}

const database = (directory = home): string => path.join(journalDirectory(directory), "journal.db");

/**
 * Writes a journal of some groups and closes it cleanly. Its snapshots are removed, so that a start reads the whole
 * journal.
 */
async function writeJournal(groupCount: number): Promise<void> {
  const { driver, close } = await openHome(home);
  for (let index = 0; index < groupCount; index++) await driver.command(submit(testSpec(`w${index}`)));
  await close();
  rmSync(path.join(journalDirectory(home), "snapshots"), { recursive: true });
}

function edit(sql: string, ...values: (string | number)[]): void {
  const connection = new DatabaseSync(database());
  connection.prepare(sql).run(...values);
  connection.close();
}

/** Copies the home directory in its present state, as a kill of the process at this moment would leave it. */
function copyOfLive(): string {
  const copy = path.join(home, "copy");
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(journalDirectory(copy), { recursive: true });
  for (const name of ["journal.db", "journal.db-wal"]) {
    copyFileSync(path.join(journalDirectory(home), name), path.join(journalDirectory(copy), name));
  }
  if (existsSync(path.join(home, "attempts")))
    cpSync(path.join(home, "attempts"), path.join(copy, "attempts"), { recursive: true });
  return copy;
}

describe("one control plane per directory", () => {
  it("refuses a second one with the first one's process id, and takes over when that was killed", async () => {
    const script = new URL("testing/open-and-wait.ts", import.meta.url).pathname;
    const holder = spawn(process.execPath, [script, home], { stdio: ["ignore", "pipe", "inherit"] });
    await once(holder.stdout, "data");
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalInUse",
      message: expect.stringContaining(`process ${holder.pid}`),
    });
    holder.kill("SIGKILL");
    await once(holder, "exit");
    const { driver } = await opened();
    await driver.command(submit(testSpec("one")));
  });

  it("refuses a second one in the same process, and lets go when it closes", async () => {
    const first = await opened();
    await expect(openHome(home)).rejects.toMatchObject({ code: "journalInUse" });
    await first.close();
    await opened();
  });

  it("lets exactly one of many win", async () => {
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => opened()));
    expect(results.filter(({ status }) => status === "fulfilled").length).toBe(1);
  });
});

describe("damage before the newest snapshot, which a start does not fold, is refused too", () => {
  const withSnapshots = async (groupCount: number): Promise<void> => {
    const { driver, close } = await openHome(home);
    for (let index = 0; index < groupCount; index++) await driver.command(submit(testSpec(`w${index}`)));
    await close();
  };

  it.each<[string, string, string]>([
    [
      "a changed event",
      "UPDATE groups SET text = replace(text, 'w4', 'x4') WHERE first_sequence = 5",
      "up to event 4;",
    ],
    ["a missing group", "DELETE FROM groups WHERE first_sequence = 7", "up to event 6;"],
    ["a missing beginning", "DELETE FROM groups WHERE first_sequence < 3", "up to event 0;"],
  ])("%s", async (_, sql, place) => {
    await withSnapshots(10);
    const whole = await openHome(home);
    await whole.close();
    edit(sql);
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalDamaged",
      message: expect.stringContaining(place),
    });
  });

  it("as far back as a start looks", async () => {
    await withSnapshots(10);
    edit("DELETE FROM groups WHERE first_sequence = 3");
    const connection = openForReading(journalDirectory(home));
    const source = { directory: home, reader: new JournalReader(connection) };
    expect(() => checkHistory(source, 10, 6)).not.toThrow();
    expect(() => checkHistory(source, 10, 9)).toThrow("event 3 is missing; the next one is 4");
    connection.close();
  });
});

describe("a damaged journal is refused with its place", () => {
  it("a changed event", async () => {
    await writeJournal(10);
    edit("UPDATE groups SET text = replace(text, 'w4', 'x4') WHERE first_sequence = 5");
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalDamaged",
      message: expect.stringContaining("past event 4"),
    });
  });

  it("a missing group", async () => {
    await writeJournal(10);
    edit("DELETE FROM groups WHERE first_sequence = 7");
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalDamaged",
      message: expect.stringContaining("past event 6"),
    });
  });

  it("pages overwritten in the middle of the file", async () => {
    await writeJournal(300);
    const size = statSync(database()).size;
    const descriptor = openSync(database(), "r+");
    for (let at = Math.floor(size / 3); at < (size * 2) / 3; at += 4096)
      writeSync(descriptor, Buffer.alloc(512, 0xa5), 0, 512, at);
    closeSync(descriptor);
    await expect(openHome(home)).rejects.toMatchObject({ code: "journalDamaged" });
  });

  it("a file that is no database", async () => {
    mkdirSync(journalDirectory(home), { recursive: true });
    writeFileSync(database(), "not a database, but long enough to be looked at ".repeat(40));
    await expect(openHome(home)).rejects.toMatchObject({ code: "journalDamaged" });
  });

  it("another program's database, which is left as it was", async () => {
    mkdirSync(journalDirectory(home), { recursive: true });
    const other = new DatabaseSync(database());
    other.exec("CREATE TABLE theirs (id INTEGER)");
    other.close();
    const before = readFileSync(database());
    await expect(openHome(home)).rejects.toMatchObject({ code: "journalForeign" });
    expect(readFileSync(database()).equals(before)).toBe(true);
  });

  it("a digest that the events do not give", async () => {
    await writeJournal(10);
    edit("UPDATE digests SET digest = ?", "0".repeat(32));
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalDigestMismatch",
      message: expect.stringContaining("event 10"),
    });
  });
});

describe("what a newer version wrote is refused", () => {
  it("a newer format", async () => {
    await writeJournal(3);
    edit("PRAGMA user_version = 99");
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalTooNew",
      message: expect.stringContaining("format 99"),
    });
  });

  it.each([
    ["an unknown kind", '"kind":"teamPainted","version":1'],
    ["a newer version of a kind", '"kind":"workloadSubmitted","version":7'],
  ])("%s of event, although its chain is right", async (_, replacement) => {
    await writeJournal(3);
    const connection = new DatabaseSync(database());
    const row = connection.prepare("SELECT text FROM groups WHERE first_sequence = 3").get() as { text: string };
    const { chain } = connection.prepare("SELECT chain FROM groups WHERE first_sequence = 2").get() as {
      chain: string;
    };
    const text = row.text.replace(/"kind":"workloadSubmitted","version":\d+/, replacement);
    expect(text).not.toBe(row.text);
    connection
      .prepare("UPDATE groups SET text = ?, chain = ? WHERE first_sequence = 3")
      .run(text, chainAfter(chain, text));
    connection.prepare("DELETE FROM digests").run();
    connection.close();
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalDamaged",
      message: expect.stringMatching(/past event 2.*start the version that wrote it/),
    });
  });
});

describe("a journal that has lost its end", () => {
  it("starts from any truncated or garbled log with a prefix of what was written", async () => {
    const live = await opened();
    for (let index = 0; index < 30; index++) await live.driver.command(submit(testSpec(`w${index}`)));
    const size = statSync(`${database()}-wal`).size;
    let shorter = 0;
    for (let step = 0; step <= 12; step++) {
      const copy = copyOfLive();
      const wal = `${database(copy)}-wal`;
      if (step % 2 === 0) truncateSync(wal, Math.floor((size * step) / 13));
      else {
        const descriptor = openSync(wal, "r+");
        writeSync(descriptor, Buffer.alloc(64, 0x5a), 0, 64, Math.floor((size * step) / 13));
        closeSync(descriptor);
      }
      const { driver, close } = await openHome(copy);
      const { sequence } = driver.status();
      if (sequence < 30) shorter++;
      await driver.command(submit(testSpec("after")));
      await close();
      expect(verifyJournal(journalDirectory(copy)).sequence).toBe(sequence + 1);
    }
    expect(shorter).toBeGreaterThan(5);
  });

  it("is refused when an attempt knows more than it does", async () => {
    const live = await opened();
    await registerFleet(live);
    await live.driver.command(submit(testSpec("one")));
    await untilEvent(live.driver, ({ kind }) => kind === "workloadEnded");
    const copy = copyOfLive();
    truncateSync(`${database(copy)}-wal`, 0);
    await expect(openHome(copy)).rejects.toMatchObject({
      code: "journalOlder",
      message: expect.stringMatching(/ends at event 0, but attempt \S+ knows event 5/),
    });
  });

  it("is refused when a snapshot knows more than it does", async () => {
    const { driver, close } = await openHome(home);
    for (let index = 0; index < 10; index++) await driver.command(submit(testSpec(`w${index}`)));
    await close();
    edit("DELETE FROM groups WHERE first_sequence > 8");
    edit("DELETE FROM digests");
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalOlder",
      message: expect.stringContaining("knows event 10"),
    });
  });
});

describe("a journal that does not hold what is known of it", () => {
  const count = 12;
  const filled = async (): Promise<void> => {
    const { driver, close } = await openHome(home);
    for (let index = 0; index < count; index++) await driver.command(submit(testSpec(`w${index}`)));
    await close();
  };
  const refusal = async (where = home): Promise<{ code: string; message: string }> => {
    try {
      await (await openHome(where)).close();
    } catch (error) {
      return error as { code: string; message: string };
    }
    return { code: "", message: "it started" };
  };

  it.each([
    ["removed", (file: string) => rmSync(file)],
    ["empty", (file: string) => truncateSync(file)],
  ])("an %s database beside a snapshot is refused, again and again, and makes no new journal", async (_, remove) => {
    await filled();
    remove(database());
    rmSync(`${database()}-wal`, { force: true });
    for (const _again of [1, 2]) {
      const { code, message } = await refusal();
      expect(code).toBe("journalMissing");
      expect(message).toMatch(new RegExp(`knows event ${count}.*backup.*move .* away`));
    }
    rmSync(path.join(journalDirectory(home), "head.witness"));
    expect((await refusal()).message).toMatch(new RegExp(`snapshot .*${count}.snapshot knows event ${count}`));
    // The remedy that the message names.
    rmSync(journalDirectory(home), { recursive: true });
    expect((await opened()).driver.status().sequence).toBe(0);
  });

  it("another, empty journal in its place is refused", async () => {
    await filled();
    const other = temporaryDirectory();
    await (await openHome(other)).close();
    copyFileSync(database(other), database());
    rmSync(other, { recursive: true });
    expect(await refusal()).toMatchObject({ code: "journalMissing" });
  });

  it("another journal with events in its place is refused", async () => {
    await filled();
    const other = temporaryDirectory();
    const made = await openHome(other);
    for (let index = 0; index < count + 5; index++) await made.driver.command(submit(testSpec(`x${index}`)));
    await made.close();
    copyFileSync(database(other), database());
    rmSync(other, { recursive: true });
    expect(await refusal()).toMatchObject({
      code: "journalForeign",
      message: expect.stringContaining("--accept-journal-loss"),
    });
  });

  it("a truncated log without attempts and snapshots is refused at any length; accepted, it goes on from what is left", async () => {
    const live = await opened();
    for (let index = 0; index < count; index++) await live.driver.command(submit(testSpec(`w${index}`)));
    const size = statSync(`${database()}-wal`).size;
    let began = 0;
    for (let step = 0; step < 8; step++) {
      const copy = copyOfLive();
      copyFileSync(
        path.join(journalDirectory(home), "head.witness"),
        path.join(journalDirectory(copy), "head.witness"),
      );
      truncateSync(`${database(copy)}-wal`, Math.floor((size * step) / 8));
      const { code, message } = await refusal(copy);
      expect(["journalOlder", "journalMissing"]).toContain(code);
      expect(message).toMatch(new RegExp(`knows event ${count}`));
      if (code === "journalMissing") continue;
      const { driver, close, logged } = await openHome(copy, { journal: { acceptsLoss: true } });
      const { sequence } = driver.status();
      expect(sequence).toBeLessThan(count);
      expect(logged.join("\n")).toContain(`continues after event ${sequence}`);
      await driver.command(submit(testSpec("after")));
      await close();
      const again = await openHome(copy);
      expect(again.driver.status().sequence).toBe(sequence + 1);
      await again.close();
      began++;
    }
    expect(began).toBeGreaterThan(2);
  });

  it("a whole chain that is not the one that was synced is refused", async () => {
    await filled();
    rmSync(path.join(journalDirectory(home), "snapshots"), { recursive: true });
    const connection = new DatabaseSync(database());
    const at = (sequence: number): { text: string; chain: string } =>
      connection.prepare("SELECT text, chain FROM groups WHERE first_sequence = ?").get(sequence) as {
        text: string;
        chain: string;
      };
    const text = at(count).text.replace(`w${count - 1}`, "forged");
    connection
      .prepare("UPDATE groups SET text = ?, chain = ? WHERE first_sequence = ?")
      .run(text, chainAfter(at(count - 1).chain, text), count);
    connection.prepare("DELETE FROM digests").run();
    connection.close();
    expect(await refusal()).toMatchObject({
      code: "journalDamaged",
      message: expect.stringContaining(`event ${count} differs from the one that was synced`),
    });
  });

  it.each([
    ["flipped bytes", "UPDATE rounds SET inputs = replace(inputs, 'w4', 'w5') WHERE round = 5"],
    ["a missing round", "DELETE FROM rounds WHERE round = 5"],
    ["another time", "UPDATE rounds SET at_ms = at_ms + 1 WHERE round = 5"],
    ["another number", "UPDATE rounds SET first_sequence = 1 WHERE round = 5"],
  ])("%s in the recorded inputs are refused; accepted, the inputs are dropped", async (_, sql) => {
    await filled();
    edit(sql);
    const { code, message } = await refusal();
    expect([code, message]).toEqual([
      "journalRoundsDamaged",
      expect.stringMatching(/round 5 (?:is|differs) .*backup.*--accept-journal-loss/),
    ]);
    const { driver, close, logged } = await openHome(home, { journal: { acceptsLoss: true } });
    expect(driver.status().sequence).toBe(count);
    expect(logged.join("\n")).toContain("rounds of recorded inputs were dropped");
    await driver.command(submit(testSpec("after")));
    await close();
    await (await openHome(home)).close();
    expect(verifyJournal(journalDirectory(home)).sequence).toBe(count + 1);
  });

  it("rounds of before there were hashes are read, and what follows has one", async () => {
    await filled();
    edit("ALTER TABLE rounds DROP COLUMN hash");
    const { driver, close } = await openHome(home);
    await driver.command(submit(testSpec("after")));
    await close();
    edit("UPDATE rounds SET inputs = replace(inputs, 'after', 'other') WHERE inputs LIKE '%after%'");
    expect((await refusal()).code).toBe("journalRoundsDamaged");
  });
});

describe("snapshots are only a shortcut", () => {
  it.each(["its bytes", "its header", "nothing but its name"])(
    "a snapshot with damage to %s is passed over",
    async (what) => {
      const { driver, close } = await openHome(home);
      for (let index = 0; index < 10; index++) await driver.command(submit(testSpec(`w${index}`)));
      await close();
      const folder = path.join(journalDirectory(home), "snapshots");
      for (const name of readdirSync(folder)) {
        const file = readFileSync(path.join(folder, name));
        const at = what === "its bytes" ? file.length - 20 : 4;
        file[at] = (file[at] ?? 0) ^ 1;
        writeFileSync(path.join(folder, name), what === "nothing but its name" ? "" : file);
      }
      const second = await opened();
      expect(second.driver.status().sequence).toBe(10);
      expect(second.logged.join("\n")).toContain("was skipped");
    },
  );

  it("one that is at hand comes before one that is being made, and neither takes the other's file away", async () => {
    const { journal, engine } = await sqliteJournal(journalDirectory(home))(0);
    const { sequence, chain } = engine.state;
    const [making] = await Promise.allSettled([
      journal.snapshotInBackground(),
      journal.writeSnapshot(sequence, chain, engine.digest(), engine.snapshot()),
    ]);
    expect(making).toMatchObject({ status: "rejected", reason: { code: "journalFailed" } });
    await journal.close();
    expect(readdirSync(path.join(journalDirectory(home), "snapshots"))).toEqual([`${sequence}.snapshot`]);
  });

  it("keeps the newest two and no leftovers", async () => {
    for (let restart = 0; restart < 4; restart++) {
      const { driver, close } = await openHome(home);
      await driver.command(submit(testSpec(`w${restart}`)));
      await close();
      writeFileSync(path.join(journalDirectory(home), "snapshots", "99.snapshot.partial"), "half");
    }
    const { driver, close } = await openHome(home);
    await driver.command(submit(testSpec("last")));
    await close();
    expect(readdirSync(path.join(journalDirectory(home), "snapshots")).toSorted()).toEqual([
      "4.snapshot",
      "5.snapshot",
    ]);
  });
});

describe("a directory that cannot hold a journal", () => {
  it("is refused with what to do", async () => {
    writeFileSync(path.join(home, "journal"), "a file where the directory should be");
    await expect(openHome(home)).rejects.toMatchObject({
      code: "journalNotWritable",
      message: expect.stringContaining("HEADROOM_HOME"),
    });
  });
});
