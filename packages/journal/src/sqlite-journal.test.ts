import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { journalCases } from "./conformance.ts";
import { openForWriting } from "./database.ts";
import { takeLeadership } from "./schema.ts";
import { sqliteJournal } from "./sqlite-journal.ts";

describe("the embedded journal conforms", () => {
  it.for(journalCases.map((journalCase) => [journalCase.name, journalCase] as const))("%s", async ([, journalCase]) => {
    const directory = mkdtempSync(path.join(tmpdir(), "headroom-journal-"));
    const open = sqliteJournal(directory);
    try {
      const takeOver = async (): Promise<number> => {
        const database = openForWriting(directory, "full");
        const epoch = takeLeadership(database);
        database.close();
        return epoch;
      };
      await expect(journalCase.run({ open: () => open(0), takeOver })).resolves.toBeUndefined();
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

/**
 * The disk is a separate file system in a separate mount namespace: no other process sees it, and it is removed with
 * the last process that uses it.
 */
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
if (!canMount) console.warn("skipped: this user may not mount a file system in a namespace, so no disk can be filled");

it.skipIf(!canMount)("says that the disk is full where that shows only after an answer", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-journal-"));
  const script = new URL("testing/fill-at-checkpoint.ts", import.meta.url).pathname;
  try {
    const commands = [
      `mount -t tmpfs -o size=5m,mode=700 none "${directory}"`,
      `exec "${process.execPath}" "${script}" "${directory}"`,
    ];
    const { stdout, stderr } = spawnSync("unshare", ["-rm", "sh", "-c", commands.join("\n")], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(stdout).toMatch(
      /^appended\njournalDiskFull The disk of the journal is full .*Free space and start again\.\n$/,
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});
