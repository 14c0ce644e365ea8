/**
 * Notes about checkpoints that are drained, one file each: what is to be copied, and what a copy led to. A later process
 * continues with them, and repeats the reports of copies, because it cannot know whether they were recorded.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { AttemptId, ReportedArtifact, WorkloadId } from "@headroom/model";
import { syncPath } from "@headroom/platform";
import { attemptDirName } from "./attempt-names.ts";
import type { DrainRecord } from "./drain-record.ts";
import type { AttemptPlaces } from "./attempt-roots.ts";

export interface DrainNote {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly step: number;
  readonly path: string;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly to: DrainRecord;
  readonly places: AttemptPlaces;
  /** Boot of the machine during which the work reported it: after a power cut its local bytes may be incomplete. */
  readonly bootId: string;
  /** The bytes that were reported; `null`: they could not be read. Absent: nothing has looked at them yet. */
  readonly stamp?: string | null;
  /** Key of the copy that was begun. Absent: none was. */
  readonly within?: string;
  /** The copy is complete. Absent: it is to be made. */
  readonly report?: ReportedArtifact;
}

const ENDING = ".json";
/** Notes of one attempt. Older ones of complete copies are dropped. */
const KEPT = 8;

export class DrainNotes {
  readonly #dir: string;
  readonly #notes = new Map<string, DrainNote>();
  /** Distinguishes control planes that share a store. */
  readonly owner: string;

  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.owner = ownerOf(path.join(dir, "owner"));
    for (const name of readdirSync(dir)) {
      if (!name.endsWith(ENDING)) continue;
      const note = read(path.join(dir, name));
      // A note that cannot be read costs one copy: the next checkpoint makes another one.
      if (note === null) rmSync(path.join(dir, name), { force: true });
      else this.#notes.set(name, note);
    }
  }

  all(): readonly DrainNote[] {
    return [...this.#notes.values()];
  }

  /** The note as it was saved last; `null`: it was dropped. */
  saved(note: Pick<DrainNote, "attemptId" | "step">): DrainNote | null {
    return this.#notes.get(nameOf(note)) ?? null;
  }

  has({ attemptId, step }: Pick<DrainNote, "attemptId" | "step">): boolean {
    return this.#notes.has(nameOf({ attemptId, step }));
  }

  /** A complete copy is noted durably before it is reported. */
  save(note: DrainNote): void {
    const name = nameOf(note);
    const target = path.join(this.#dir, name);
    writeFileSync(`${target}.new`, JSON.stringify(note), { mode: 0o600 });
    if (note.report !== undefined) syncPath(`${target}.new`);
    renameSync(`${target}.new`, target);
    if (note.report !== undefined) syncPath(this.#dir);
    this.#notes.delete(name);
    this.#notes.set(name, note);
    const stored = this.of(note.attemptId).filter(({ report }) => report !== undefined);
    for (const each of stored.slice(0, -KEPT)) this.drop(each);
  }

  drop(note: Pick<DrainNote, "attemptId" | "step">): void {
    this.#notes.delete(nameOf(note));
    rmSync(path.join(this.#dir, nameOf(note)), { force: true });
  }

  /** In the order in which they were saved. */
  of(attemptId: AttemptId): readonly DrainNote[] {
    return this.all().filter((each) => each.attemptId === attemptId);
  }
}

const nameOf = ({ attemptId, step }: Pick<DrainNote, "attemptId" | "step">): string =>
  `${attemptDirName(attemptId)}~${step}${ENDING}`;

function read(file: string): DrainNote | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as DrainNote;
  } catch {
    return null;
  }
}

function ownerOf(file: string): string {
  try {
    const known = readFileSync(file, "utf8").trim();
    if (/^[0-9a-f]{12}$/.test(known)) return known;
  } catch {
    // It is made below.
  }
  const made = randomUUID().replaceAll("-", "").slice(0, 12);
  writeFileSync(`${file}.new`, made, { mode: 0o600 });
  syncPath(`${file}.new`);
  renameSync(`${file}.new`, file);
  return made;
}
