/**
 * Starts pipelines when files appear in stores. Files that are there at the first look start nothing. Files seen so far are in
 * `file-triggers.json`. The engine starts one run for a file and its tag, so a look that is repeated after a crash starts none
 * twice.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { ReadonlyState } from "@headroom/engine";
import { FILE_PARAM } from "@headroom/model";
import type { PipelineSpec } from "@headroom/model";
import { OperationalError, syncPath } from "@headroom/platform";
import { listFiles } from "@headroom/stores";
import type { StoreSet } from "@headroom/stores";
import { rejectionProblem } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";

const LOOK_MS = 15_000;
const LIST_MS = 60_000;
/** Runs of one look: the rest is found by the next one. */
const RUNS_MAX = 100;
const FILE = "file-triggers.json";

interface TriggerParts {
  readonly home: string;
  readonly driver: Pick<Driver, "read" | "command">;
  readonly stores: StoreSet;
  readonly log: DriverLog;
}

interface WatchedPrefix {
  readonly pipeline: PipelineSpec;
  readonly actor: string;
  readonly uri: string;
}

/** Tags by name; those of files that started a run, or were there at the first look. */
type Seen = Map<string, string>;

export class FileTriggers {
  readonly #parts: TriggerParts;
  readonly #closing = new AbortController();
  readonly #seen: Map<string, Seen>;
  /** Files of folders at the last look: one that still changes is not complete. */
  readonly #before = new Map<string, ReadonlyMap<string, string>>();
  /** Problems that were logged, by trigger: each is logged once. */
  readonly #problems = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #look: Promise<void> | null = null;

  constructor(parts: TriggerParts) {
    this.#parts = parts;
    this.#seen = readSeen(path.join(parts.home, FILE));
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#closing.abort(new Error("the control plane ends"));
    await this.#look;
  }

  /** One look at a time: a store can be slower than the interval. */
  look(): Promise<void> {
    this.#look ??= this.#lookOnce()
      .catch((error: unknown) => this.#warn("", `Files of stores were not looked at: ${messageOf(error)}`))
      .finally(() => (this.#look = null));
    return this.#look;
  }

  async #lookOnce(): Promise<void> {
    const watched = await this.#parts.driver.read(({ state }) => watchedIn(state));
    this.#forgetOthers(new Set(watched.map(keyOf)));
    for (const each of watched) {
      if (this.#closing.signal.aborted) return;
      try {
        await this.#lookAt(each);
        this.#problems.delete(keyOf(each));
      } catch (error) {
        // A store that does not answer has no new files: nothing is forgotten and nothing starts.
        this.#warn(keyOf(each), `Pipeline ${each.pipeline.name} does not follow ${each.uri}: ${messageOf(error)}`);
      }
    }
  }

  async #lookAt(watched: WatchedPrefix): Promise<void> {
    const { stores } = this.#parts;
    const { uri, pipeline } = watched;
    const refusal = stores.readingRefusal(uri, { team: pipeline.team, rule: undefined, version: null, isList: true });
    if (refusal !== null) throw new OperationalError("notOpenToTeam", refusal);
    const place = stores.placeOf(uri);
    if (place === null) throw new OperationalError("unknownStore", "No declared store has it (headroom store add).");
    const { store } = await stores.open(place.declaration);
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(LIST_MS)]);
    const files = new Map(
      (await listFiles({ store, key: place.key, uri }, signal)).map(({ name, tag }) => [name, tag]),
    );
    const key = keyOf(watched);
    const seen = this.#seen.get(key);
    if (seen === undefined) {
      this.#seen.set(key, files);
      return this.#save();
    }
    const isFolder = place.declaration.type === "shared";
    const before = this.#before.get(key);
    this.#before.set(key, files);
    const isWhole = (name: string, tag: string): boolean => !isFolder || before?.get(name) === tag;
    const added = [...files].filter(([name, tag]) => seen.get(name) !== tag && isWhole(name, tag));
    let changed = forget(seen, files);
    for (const [name, tag] of added.slice(0, RUNS_MAX)) {
      if (!(await this.#start(watched, name, tag))) break;
      seen.set(name, tag);
      changed = true;
    }
    if (changed) this.#save();
  }

  /** False: the pipeline takes no more runs now, so the file is tried again with the next look. */
  async #start({ pipeline, actor, uri }: WatchedPrefix, name: string, tag: string): Promise<boolean> {
    const file = name === "" ? uri : `${uri.replace(/\/+$/, "")}/${name}`;
    const params = pipeline.params.some((each) => each.name === FILE_PARAM) ? { [FILE_PARAM]: file } : {};
    const reply = await this.#parts.driver.command({
      kind: "startPipelineRun",
      name: pipeline.name,
      params,
      force: false,
      trigger: "file",
      file: { uri: file, tag },
      actor,
      idempotencyKey: null,
    });
    if (reply.kind !== "rejected") return true;
    throw new OperationalError("notStarted", rejectionProblem(reply.rejection).detail);
  }

  #forgetOthers(present: ReadonlySet<string>): void {
    const gone = [...this.#seen.keys()].filter((key) => !present.has(key));
    for (const key of gone) {
      this.#seen.delete(key);
      this.#before.delete(key);
    }
    if (gone.length > 0) this.#save();
  }

  #save(): void {
    const file = path.join(this.#parts.home, FILE);
    const text = JSON.stringify([...this.#seen].map(([key, files]) => [key, [...files]]));
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    syncPath(`${file}.new`);
    renameSync(`${file}.new`, file);
  }

  #warn(key: string, message: string): void {
    if (this.#closing.signal.aborted || this.#problems.get(key) === message) return;
    this.#problems.set(key, message);
    this.#parts.log.warn(message);
  }
}

function watchedIn({ pipelines }: ReadonlyState): readonly WatchedPrefix[] {
  const watched: WatchedPrefix[] = [];
  for (const { pipeline, actor } of pipelines.values())
    for (const trigger of pipeline.triggers ?? [])
      if (trigger.kind === "file") watched.push({ pipeline, actor, uri: trigger.uri });
  return watched;
}

/** With the team: another team may later have a pipeline of the same name. */
const keyOf = ({ pipeline, uri }: WatchedPrefix): string => JSON.stringify([pipeline.team, pipeline.name, uri]);

/** Forgets files that are gone, so that they start a run if they come again. */
function forget(seen: Seen, files: ReadonlyMap<string, string>): boolean {
  const gone = [...seen.keys()].filter((name) => !files.has(name));
  for (const name of gone) seen.delete(name);
  return gone.length > 0;
}

/** Without the file, or with a damaged one, the next look is a first look: files that came meanwhile start nothing. */
function readSeen(file: string): Map<string, Seen> {
  try {
    const entries = JSON.parse(readFileSync(file, "utf8")) as [string, [string, string][]][];
    return new Map(entries.map(([key, files]) => [key, new Map(files)]));
  } catch {
    return new Map();
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
