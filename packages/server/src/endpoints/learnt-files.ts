/**
 * Stores what the scaling rules learnt from the traffic of endpoints, a file for each, so that a restart does not begin again. No
 * decision of the engine depends on them: a missing or damaged file only means to learn again.
 */
import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { DriverLog } from "../driver/driver-log.ts";

const FOLDER = "endpoint-traffic";
const STORE_EVERY_MS = 60_000;
/** With more than 150 endpoints each is stored less often than once a minute. */
const STORED_AT_ONCE = 5;
/** The largest file that is read: an hour of samples has an eighth of it. */
const BYTES_MAX = 1_048_576;
const SUFFIX = ".json";

interface Learnt {
  readonly id: string;
  saved(): unknown;
}

export class LearntFiles {
  readonly #folder: string;
  readonly #log: DriverLog;
  readonly #nowMs: () => number;
  readonly #storedAtMs = new Map<string, number>();
  #isWarned = false;

  constructor(home: string, log: DriverLog, nowMs: () => number) {
    this.#folder = path.join(home, FOLDER);
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Returns what an earlier process stored; `null`: nothing that can be read. */
  read(id: string): unknown {
    this.#storedAtMs.set(id, this.#nowMs());
    try {
      const file = this.#file(id);
      return statSync(file).size > BYTES_MAX ? null : (JSON.parse(readFileSync(file, "utf8")) as unknown);
    } catch {
      return null;
    }
  }

  /** Stores endpoints that were stored a minute ago or earlier, a few for each call, so that a look stays short. */
  async storeDue(all: readonly Learnt[]): Promise<void> {
    const nowMs = this.#nowMs();
    const storedAtMs = ({ id }: Learnt): number => Math.min(nowMs, this.#storedAtMs.get(id) ?? 0);
    const due = all.filter((each) => nowMs - storedAtMs(each) >= STORE_EVERY_MS);
    const first = due.toSorted((left, right) => storedAtMs(left) - storedAtMs(right));
    for (const each of first.slice(0, STORED_AT_ONCE)) await this.#store(each);
  }

  async storeAll(all: readonly Learnt[]): Promise<void> {
    for (const each of all) await this.#store(each);
  }

  /** Removes the files of endpoints that are gone. */
  async keepOnly(ids: ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.#folder).catch((): string[] => []);
    for (const name of names)
      if (!ids.has(decoded(name.slice(0, -SUFFIX.length)))) await rm(path.join(this.#folder, name), { force: true });
  }

  remove(id: string): void {
    this.#storedAtMs.delete(id);
    rmSync(this.#file(id), { force: true });
  }

  async #store(each: Learnt): Promise<void> {
    this.#storedAtMs.set(each.id, this.#nowMs());
    const saved = each.saved();
    if (saved === null) return;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const file = this.#file(each.id);
      await writeFile(`${file}.new`, JSON.stringify(saved), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      if (this.#isWarned) return;
      this.#isWarned = true;
      this.#log.warn(
        `Learnt traffic of endpoints cannot be stored, so a restart learns it again: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  #file(id: string): string {
    return path.join(this.#folder, `${encodeURIComponent(id)}${SUFFIX}`);
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return "";
  }
}
