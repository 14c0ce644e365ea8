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
