/**
 * Keeps the incidents up to date with the journal, stores them in a file of the state directory, and announces each
 * one once. A damaged or missing file is replaced: the fold begins again, with the whole journal if it is short.
 */
import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { IncidentFold } from "@headroom/health";
import type { IncidentFacts } from "@headroom/health";
import type { Event } from "@headroom/model";
import { phaseOf } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { RunbookFile } from "./runbook-file.ts";

const FILE = "incidents.json";
/** Events that a fold without a file reads again; about a second of work. */
const REFOLDED_MAX = 200_000;
/** Pause between two looks at what is to be stored and announced. */
const LOOK_EVERY_MS = 1_000;
/** The fold contains all nodes and active attempts, so it is not stored more often. */
const STORE_EVERY_MS = 10_000;
/** A quiet fold is stored after so many events, so that a start has little to read. */
const STORE_AFTER_EVENTS = 50_000;
/** An incident is announced when it had this time to gather its failures (`group_wait` of Alertmanager is 30 s). */
const SETTLE_MS = 20_000;
const CATCH_UP_MS = 2_000;
const ANNOUNCED_MAX = 2_000;

type Announcement = "opened" | "ended";

interface IncidentServiceOptions {
  readonly home: string;
  readonly driver: Driver;
  readonly log: DriverLog;
  readonly nowMs: () => number;
  /** Resolves when the message is delivered or given up. */
  readonly announce: (incident: IncidentFacts, what: Announcement) => Promise<void>;
  /** For tests; see `SETTLE_MS`. */
  readonly settleMs?: number;
}

interface Stored {
  readonly fold: string;
  readonly announced: readonly (readonly [string, Announcement])[];
}

export class IncidentService {
  readonly #options: IncidentServiceOptions;
  readonly runbooks: RunbookFile;
  readonly #closing = new AbortController();
  #fold: IncidentFold | null = null;
  readonly #announced: Map<string, Announcement>;
  /** Announcements that were delivered or given up. The others are made again after a restart. */
  readonly #delivered: Map<string, Announcement>;
  #hasUnstored = false;
  /** Sequence of the journal at the start. Before the fold has it, incidents that are over may look open. */
  readonly #firstSequence: number;
  /** Whether an incident still gathers failures before it is announced. */
  #isWaiting = true;
  #seenRevision = -1;
  #storedRevision = -1;
  #storedAtMs = 0;
  #storedSequence = 0;
  #waiting: readonly { readonly sequence: number; resolve(): void }[] = [];
  #following: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** The write in progress: one at a time, so that a slow disk holds up nothing else. */
  #storing: Promise<void> | null = null;

  constructor(options: IncidentServiceOptions) {
    this.#options = options;
    this.runbooks = new RunbookFile(options.home, (message) => options.log.warn(message));
    const stored = storedIn(path.join(options.home, FILE));
    this.#announced = new Map(stored?.announced);
    this.#delivered = new Map(stored?.announced);
    const { sequence } = options.driver.status();
    this.#firstSequence = sequence;
    try {
      if (stored !== null) this.#fold = IncidentFold.restore(stored.fold);
    } catch {
      options.log.warn("The stored incidents cannot be read and are gathered again.");
    }
    // A journal that ends before the stored position is another one.
    if (this.#fold !== null && this.#fold.sequence > sequence) this.#fold = null;
    if (this.#fold === null && sequence <= REFOLDED_MAX) this.#fold = new IncidentFold();
  }

  start(): void {
    this.#following = this.#follow();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** The fold, up to date with the newest durable event that the service has read. */
  get fold(): IncidentFold {
    return (this.#fold ??= new IncidentFold());
  }

  /** Resolves when the fold has every event that is durable now, or after two seconds. */
  async caughtUp(): Promise<void> {
    const { sequence } = this.#options.driver.status();
    if (this.fold.sequence >= sequence || this.#closing.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = [...this.#waiting, { sequence, resolve }];
    const timer = setTimeout(resolve, CATCH_UP_MS);
    await promise;
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#following;
    await this.#storing;
    if (this.#following !== null) await this.#store();
  }

  async #follow(): Promise<void> {
    const { driver, log } = this.#options;
    try {
      this.#fold ??= await driver.read(({ state }) => IncidentFold.after(state));
      for await (const { sequence, event } of driver.events(this.#fold.sequence + 1, this.#closing.signal))
        this.#apply(sequence, event);
    } catch (error) {
      if (!this.#closing.signal.aborted)
        log.warn(`Incidents are no longer gathered: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #apply(sequence: number, event: Event): void {
    this.fold.apply(sequence, event);
    if (this.#waiting.length === 0) return;
    for (const each of this.#waiting) if (each.sequence <= sequence) each.resolve();
    this.#waiting = this.#waiting.filter((each) => each.sequence > sequence);
  }

  #look(): void {
    const { fold } = this;
    const isReady = fold.sequence >= this.#firstSequence;
    if (isReady && (this.#isWaiting || fold.revision !== this.#seenRevision)) this.#announceAll();
    const isDue = this.#options.nowMs() - this.#storedAtMs >= STORE_EVERY_MS;
    const isChanged =
      this.#hasUnstored ||
      fold.revision !== this.#storedRevision ||
      fold.sequence - this.#storedSequence > STORE_AFTER_EVENTS;
    if (isDue && isChanged) this.#storing ??= this.#store().finally(() => (this.#storing = null));
  }

  #announceAll(): void {
    this.#isWaiting = false;
    this.#seenRevision = this.fold.revision;
    const byId = new Map<string, IncidentFacts>();
    for (const incident of this.fold.incidents()) {
      for (const { sequence } of incident.failures) byId.set(`i${sequence}`, incident);
      if (phaseOf(incident) === "open") this.#announceOpen(incident);
    }
    // Incidents can join after they were announced. The receiver hears the end of each under the id that it knows.
    for (const [id, before] of this.#announced) {
      const incident = byId.get(id);
      if (before === "opened" && incident !== undefined && phaseOf(incident) !== "open")
        this.#announce({ ...incident, id }, "ended");
    }
    for (const announced of [this.#announced, this.#delivered])
      for (const id of announced.keys()) {
        if (announced.size <= ANNOUNCED_MAX) break;
        announced.delete(id);
      }
  }

  /** An incident that has ended opens again with the next failure of its cause. */
  #announceOpen(incident: IncidentFacts): void {
    const { nowMs, settleMs = SETTLE_MS } = this.#options;
    const before = this.#announced.get(incident.id);
    if (before === "opened") return;
    const times = incident.failures.map(({ atMs }) => atMs);
    const sinceMs = before === undefined ? Math.min(...times) : Math.max(...times);
    if (nowMs() - sinceMs < settleMs || isSilent(incident, nowMs())) this.#isWaiting = true;
    else this.#announce(incident, "opened");
  }

  #announce(incident: IncidentFacts, what: Announcement): void {
    const { announce, log } = this.#options;
    const { id } = incident;
    this.#announced.set(id, what);
    announce(incident, what)
      .then(() => {
        this.#delivered.set(id, what);
        this.#hasUnstored = true;
      })
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) log.warn(`Incident ${id} was not announced: ${String(error)}`);
      });
  }

  async #store(): Promise<void> {
    const { home, log } = this.#options;
    const { fold } = this;
    this.#storedRevision = fold.revision;
    this.#storedSequence = fold.sequence;
    this.#storedAtMs = this.#options.nowMs();
    this.#hasUnstored = false;
    const file = path.join(home, FILE);
    try {
      const stored: Stored = { fold: fold.stored(), announced: [...this.#delivered] };
      await writeFile(`${file}.${process.pid}`, JSON.stringify(stored), { mode: 0o600 });
      await rename(`${file}.${process.pid}`, file);
    } catch (error) {
      log.warn(`The incidents were not stored: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

const isSilent = ({ failures }: IncidentFacts, nowMs: number): boolean =>
  failures.some(({ records }) =>
    records.some(({ annotation }) => annotation.kind === "silence" && annotation.untilMs > nowMs),
  );

function storedIn(file: string): Stored | null {
  try {
    const stored = JSON.parse(readFileSync(file, "utf8")) as Stored;
    const isSound = typeof stored.fold === "string" && stored.announced.every((each) => Array.isArray(each));
    return isSound ? stored : null;
  } catch {
    return null;
  }
}
