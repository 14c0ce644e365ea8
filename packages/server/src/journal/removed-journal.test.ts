import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, copyFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { journalDirectory, openHome, removeDirectory, temporaryDirectory } from "../driver/testing/bench-home.ts";
import type { OpenHome } from "../driver/testing/bench-home.ts";
import { submit, testSpec } from "../driver/testing/requests.ts";

let root: string;
let home: string;
let open: OpenHome;

beforeEach(async () => {
  root = temporaryDirectory();
  home = path.join(root, "home");
  mkdirSync(home);
  open = await openHome(home, { journal: { synchronous: "off" } });
});

afterEach(async () => {
  await open.close().catch(() => undefined);
  removeDirectory(root);
});

const folder = (): string => journalDirectory(home);
const file = (name: string): string => path.join(folder(), name);
const aside = (): string => path.join(root, "aside");

/** Every way in which the files that SQLite has open stop being the files at the journal's place. */
const removals: Readonly<Record<string, () => void>> = {
  "the folder is removed": () => rmSync(folder(), { recursive: true }),
  "the folder is moved": () => renameSync(folder(), aside()),
  "the state directory is moved": () => renameSync(home, aside()),
  "the folder is replaced by a copy": () => {
    cpSync(folder(), aside(), { recursive: true });
    rmSync(folder(), { recursive: true });
    renameSync(aside(), folder());
  },
  "the folder is replaced by an empty one": () => {
    renameSync(folder(), aside());
    mkdirSync(folder());
  },
  "the folder is replaced by a file": () => {
    renameSync(folder(), aside());
    writeFileSync(folder(), "");
  },
  "the folder is replaced by a link to a copy": () => {
    cpSync(folder(), aside(), { recursive: true });
    rmSync(folder(), { recursive: true });
    symlinkSync(aside(), folder());
  },
  "the database is removed": () => rmSync(file("journal.db")),
  "the database is replaced by a copy": () => {
    copyFileSync(file("journal.db"), aside());
    renameSync(aside(), file("journal.db"));
  },
  "the write-ahead log is removed": () => rmSync(file("journal.db-wal")),
  "the write-ahead log is replaced by a copy": () => {
    copyFileSync(file("journal.db-wal"), aside());
    renameSync(aside(), file("journal.db-wal"));
  },
};

const command = (name: string): Promise<unknown> => open.driver.command(submit(testSpec(name)));

/** When the removal happens. Each returns commands that were sent after it. */
const moments: Readonly<Record<string, (remove: () => void) => Promise<Promise<unknown>[]>>> = {
  "before the first command": async (remove) => {
    remove();
    return [command("after")];
  },
  "after acknowledged commands": async (remove) => {
    for (const name of ["a", "b", "c"]) await command(name);
    remove();
    return [command("after"), command("after it")];
  },
  "while commands are being written": async (remove) => {
    const sent = ["a", "b", "c", "d"].map(async (name) => command(name));
    await Promise.race(sent);
    void Promise.allSettled(sent);
    remove();
    return [command("after")];
  },
};

describe.for(Object.entries(removals))("when %s", ([, remove]) => {
  it.for(Object.entries(moments))("%s, no later command is acknowledged", async ([, act]) => {
    const later = await act(remove);
    for (const { status } of await Promise.allSettled(later)) expect(status).toBe("rejected");
    expect(open.fatal.map(({ message }) => message)).toEqual([
      expect.stringMatching(/was removed, moved or replaced while .*restore a backup, and start again\.$/),
    ]);
    await expect(command("even later")).rejects.toMatchObject({ code: "journalFailed" });
  });
});
