/**
 * The cache of a node: bytes of versions and URIs, read once whatever the number of workers that use them. It is bounded,
 * survives restarts, and evicts first what was used longest ago; what an attempt holds is never evicted.
 */
import { createHash } from "node:crypto";
import { readdir, rename, stat, statfs, utimes } from "node:fs/promises";
import path from "node:path";
import { makeDirectory, OperationalError, syncPath } from "@headroom/platform";
import { download } from "../transfers/download.ts";
import type { FairTurns } from "../transfers/fair-turns.ts";
import { findContent } from "../transfers/found-content.ts";
import type { ContentPlace, FoundContent } from "../transfers/found-content.ts";
import { checkDraft, contentOf, isIntact, readEntry, removeTree, sealDraft } from "./cache-entry.ts";
import type { EntryRecord } from "./cache-entry.ts";
import { Leases } from "./leases.ts";

/** Bytes of the file system that stay free beside the cache. */
const SPARE_BYTES = 64 * 1024 * 1024;
/** Time for which a cut transfer can be continued. */
const DRAFT_KEPT_MS = 86_400_000;

export interface CacheOptions {
  readonly dir: string;
  /** Most bytes; absent: half of what the cache has and what is free. */
  readonly capacity?: number | undefined;
  /** Drafts of another boot of the machine are not continued. */
  readonly bootId: string;
}

export interface WantedContent extends ContentPlace {
  readonly digest: string | null;
  readonly turns: FairTurns;
  readonly parallel: number;
}

export interface StagedBytes {
  readonly bytes: number;
  /** `null`: the store has not answered yet. */
  readonly totalBytes: number | null;
}

interface CachedItem extends EntryRecord {
  usedAtMs: number;
}

interface Flight {
  readonly result: Promise<string>;
  readonly stop: AbortController;
  readonly seen: Set<(staged: StagedBytes) => void>;
  staged: StagedBytes;
}

export interface CacheItem {
  readonly uri: string;
  readonly digest: string | null;
  readonly bytes: number;
  readonly usedAtMs: number;
  readonly holders: readonly string[];
}

export interface CacheReport {
  readonly dir: string;
  readonly capacity: number;
  readonly bytes: number;
  readonly items: readonly CacheItem[];
}

export class NodeCache {
  readonly #options: CacheOptions;
  readonly #items = new Map<string, CachedItem>();
  readonly #flights = new Map<string, Flight>();
  /** Bytes of downloads in progress, which the cache must be able to take in. */
  readonly #reserved = new Map<string, number>();
  readonly #leases: Leases;
  #opened: Promise<void> | null = null;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#leases = new Leases(path.join(options.dir, "leases"));
  }

  /**
   * The path of the content, which stays until `release` of the holder. Rejects at the signal; the transfer goes on while
   * others wait for it.
   */
  async obtain(
    wanted: WantedContent,
    holder: string,
    { signal, onStaged }: { readonly signal: AbortSignal; readonly onStaged: (staged: StagedBytes) => void },
  ): Promise<string> {
    await this.#open();
    if (wanted.digest !== null) {
      const key = keyOf(wanted.digest);
      this.#leases.take(holder, key);
      return this.#arrive(key, wanted, null, { signal, onStaged });
    }
    const found = await findContent(wanted, signal);
    const tags = found.files.map(({ name, object }) => [name, object.bytes, object.tag]);
    const key = keyOf(`${wanted.uri} ${JSON.stringify(tags)}`);
    this.#leases.take(holder, key);
    return this.#arrive(key, wanted, found, { signal, onStaged });
  }

  release(holder: string): void {
    this.#leases.release(holder);
  }

  /** Drops the leases of all other holders: they ended while this process did not run. */
  async keepHolders(holders: ReadonlySet<string>): Promise<void> {
    await this.#open();
    this.#leases.keep(holders);
  }

  async report(): Promise<CacheReport> {
    await this.#open();
    const items = [...this.#items].map(([key, { uri, digest, bytes, usedAtMs }]) => {
      return { uri, digest, bytes, usedAtMs, holders: this.#leases.holdersOf(key) };
    });
    const { dir } = this.#options;
    return { dir, capacity: await this.#capacity(), bytes: this.#bytes(), items };
  }

  close(): void {
    for (const { stop } of this.#flights.values())
      stop.abort(new OperationalError("closing", "The control plane ends.", { retryable: true }));
  }

  #open(): Promise<void> {
    this.#opened ??= this.#readEntries();
    return this.#opened;
  }

  async #readEntries(): Promise<void> {
    for (const dir of [this.#entries, this.#drafts]) makeDirectory(dir, 0o700);
    this.#leases.open();
    for (const key of await readdir(this.#drafts)) {
      const dir = path.join(this.#drafts, key);
      if (Date.now() - (await stat(dir)).mtimeMs > DRAFT_KEPT_MS) await removeTree(dir);
    }
    for (const key of await readdir(this.#entries)) {
      const dir = this.#entry(key);
      const record = await readEntry(dir);
      if (record === null) await removeTree(dir);
      else this.#items.set(key, { ...record, usedAtMs: Math.trunc((await stat(dir)).mtimeMs) });
    }
  }

  async #arrive(
    key: string,
    wanted: WantedContent,
    found: FoundContent | null,
    { signal, onStaged }: { readonly signal: AbortSignal; readonly onStaged: (staged: StagedBytes) => void },
  ): Promise<string> {
    // A transfer that everybody has left ends first: two of them would write the same draft.
    for (let ending = this.#flights.get(key); ending?.stop.signal.aborted === true; ending = this.#flights.get(key))
      await ending.result.catch(() => {});
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#begin(key, wanted, found);
    flight.seen.add(onStaged);
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      flight.seen.delete(onStaged);
      if (flight.seen.size === 0) flight.stop.abort(signal.reason);
      left.reject(signal.reason as Error);
    };
    signal.addEventListener("abort", leave, { once: true });
    try {
      onStaged(flight.staged);
      return await Promise.race([flight.result, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #begin(key: string, wanted: WantedContent, found: FoundContent | null): Flight {
    const stop = new AbortController();
    const result = this.#bring(key, wanted, found, stop.signal).finally(() => {
      this.#flights.delete(key);
      this.#reserved.delete(key);
    });
    // Everybody may have left before it fails.
    result.catch(() => {});
    const flight = {
      result,
      stop,
      seen: new Set<(staged: StagedBytes) => void>(),
      staged: { bytes: 0, totalBytes: null },
    };
    this.#flights.set(key, flight);
    return flight;
  }

  #tell(key: string, staged: StagedBytes): void {
    const flight = this.#flights.get(key);
    if (flight === undefined) return;
    flight.staged = staged;
    for (const tell of flight.seen) tell(staged);
  }

  async #bring(key: string, wanted: WantedContent, known: FoundContent | null, signal: AbortSignal): Promise<string> {
    const dir = this.#entry(key);
    const item = this.#items.get(key);
    if (item !== undefined) {
      if (await isIntact(dir, item, signal)) return this.#use(key, item);
      this.#items.delete(key);
      await removeTree(dir);
    }
    const found = known ?? (await findContent(wanted, signal));
    await this.#makeSpace(key, found.bytes);
    let bytes = 0;
    const { digest, uri, store, turns, parallel } = wanted;
    const onBytes = (more: number): void => this.#tell(key, { bytes: (bytes += more), totalBytes: found.bytes });
    onBytes(0);
    const draft = { dir: path.join(this.#drafts, key), bootId: this.#options.bootId };
    await download({ store, turns, holder: onBytes, uri, parallel, signal, onBytes }, found, draft);
    try {
      await checkDraft(draft.dir, wanted, signal);
    } catch (error) {
      // The next attempt must not go on with these bytes.
      if (!signal.aborted) await removeTree(draft.dir);
      throw error;
    }
    const record = await sealDraft(draft.dir, { uri, digest, bytes: found.bytes, stagedAtMs: Date.now() });
    await removeTree(dir);
    await rename(draft.dir, dir);
    syncPath(this.#entries);
    return this.#use(key, { ...record, usedAtMs: record.stagedAtMs });
  }

  async #use(key: string, item: CachedItem): Promise<string> {
    const now = new Date();
    item.usedAtMs = now.getTime();
    this.#reserved.delete(key);
    this.#items.set(key, item);
    // The time of the directory is that of the last use, also for a later process.
    await utimes(this.#entry(key), now, now);
    return contentOf(this.#entry(key));
  }

  /** Evicts what nothing holds, longest unused first, until the bytes fit. */
  async #makeSpace(key: string, bytes: number): Promise<void> {
    this.#reserved.set(key, bytes);
    const capacity = await this.#capacity();
    const free = [...this.#items]
      .filter(([each]) => this.#leases.holdersOf(each).length === 0 && !this.#flights.has(each))
      .toSorted(([, left], [, right]) => left.usedAtMs - right.usedAtMs);
    for (const [victim] of free) {
      if (this.#bytes() <= capacity) break;
      this.#items.delete(victim);
      await removeTree(this.#entry(victim));
    }
    if (this.#bytes() <= capacity) return;
    throw new OperationalError(
      "cacheFull",
      `The cache in ${this.#options.dir} has no space for ${bytes} bytes: ${this.#bytes() - bytes} of ${capacity} are held by work that runs or starts. Enlarge it with a store of the type local, or wait until that work ends.`,
      { retryable: true },
    );
  }

  /** Bytes of the entries and of the downloads in progress. */
  #bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#items.values()) sum += bytes;
    for (const bytes of this.#reserved.values()) sum += bytes;
    return sum;
  }

  async #capacity(): Promise<number> {
    const { capacity, dir } = this.#options;
    const { bavail, bsize } = await statfs(dir);
    let held = 0;
    for (const { bytes } of this.#items.values()) held += bytes;
    const possible = Math.max(0, held + bavail * bsize - SPARE_BYTES);
    return capacity === undefined ? Math.trunc(possible / 2) : Math.min(capacity, possible);
  }

  get #entries(): string {
    return path.join(this.#options.dir, "entries");
  }

  get #drafts(): string {
    return path.join(this.#options.dir, "drafts");
  }

  #entry(key: string): string {
    return path.join(this.#entries, key);
  }
}

/** A name that is safe as a directory, whatever a version or a URI contains. */
const keyOf = (text: string): string => createHash("sha256").update(text).digest("hex");
