/** Files of `test/history`: journals as groups of JSON lines, snapshots beside them, and the expected digests. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { JournalGroup } from "../../src/index.ts";

const folder = path.resolve(import.meta.dirname, "../../../../test/history");
const digestsFile = path.join(folder, "digests.json");

export interface HistoryFile {
  readonly name: string;
  readonly groups: readonly JournalGroup[];
  readonly snapshot: Uint8Array;
  readonly groupsBeforeSnapshot: number;
}

/**
 * Digest of each journal under the current code. Journals never change; a digest may change for a documented reason.
 */
export const recordedDigests = (): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(digestsFile, "utf8")) as Record<string, string>;

export function historyFiles(): readonly HistoryFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".journal.jsonl"))
    .toSorted()
    .map((file) => {
      const name = file.slice(0, -".journal.jsonl".length);
      const lines = readFileSync(path.join(folder, file), "utf8").trimEnd().split("\n");
      const snapshot = new Uint8Array(readFileSync(path.join(folder, `${name}.snapshot`)));
      const groups = lines.map((line) => JSON.parse(line) as JournalGroup);
      const { sequence } = JSON.parse(new TextDecoder().decode(snapshot)) as { sequence: number };
      const groupsBeforeSnapshot = groups.filter((group) => group.firstSequence <= sequence).length;
      return { name, groups, snapshot, groupsBeforeSnapshot };
    });
}

/** Writes the files of a journal; refuses to overwrite recorded ones. */
export function writeHistory(
  name: string,
  life: { readonly groups: readonly JournalGroup[]; readonly snapshot: string; readonly digest: string },
): void {
  const journal = path.join(folder, `${name}.journal.jsonl`);
  if (existsSync(journal)) throw new Error(`${journal} exists: a recorded journal is never written again`);
  const lines = life.groups.map((group) => JSON.stringify(group));
  writeFileSync(journal, `${lines.join("\n")}\n`);
  writeFileSync(path.join(folder, `${name}.snapshot`), life.snapshot);
  const digests = existsSync(digestsFile) ? recordedDigests() : {};
  writeFileSync(digestsFile, `${JSON.stringify({ ...digests, [name]: life.digest }, null, 2)}\n`);
}
