/**
 * The cache of a node: bytes of versions and URIs, read once whatever the number of workers that use them. It is bounded,
 * survives restarts, and evicts first what was used longest ago; what an attempt holds is never evicted.
 */
import { createHash, randomUUID } from "node:crypto";
import { renameSync } from "node:fs";
import { lstat, rename, statfs } from "node:fs/promises";
import path from "node:path";
import type { HeldDirectory } from "@headroom/platform";
import { OperationalError, syncPath } from "@headroom/platform";
import { DigestThread } from "../transfers/arriving-digests.ts";
import { checkBlobs } from "../transfers/blob-digests.ts";
import { download, draftFiles } from "../transfers/download.ts";
import type { FairTurns } from "../transfers/fair-turns.ts";
import { findContent } from "../transfers/found-content.ts";
import type { ContentPlace, FoundContent } from "../transfers/found-content.ts";
import {
  checkDigest,
  contentOf,
  forgetRecord,
  intactRecord,
  readEntry,
  recordInBoot,
  sealDraft,
  syncEntry,
} from "./cache-entry.ts";
import type { EntryRecord } from "./cache-entry.ts";
import {
  areThere,
  closeFolders,
  draftBytes,
  entryKeys,
  holdFolders,
  inEntry,
  lockCache,
  makeDraft,
  readDrafts,
  removeOrLeave,
  unlessGone,
} from "./cache-folders.ts";
import type { CacheFolders } from "./cache-folders.ts";
import { Flights } from "./flights.ts";
import type { StagedBytes, TransferredBytes } from "./flights.ts";
import { SentBytes } from "./sent-bytes.ts";
import { Leases } from "./leases.ts";
import { mayPass } from "./unless-foreign.ts";

/** Bytes of the file system that stay free beside the cache. */
const SPARE_BYTES = 64 * 1024 * 1024;

export interface CacheOptions {
  readonly dir: string;
  /**
   * Where the names on the path of `dir` begin that jobs of this user can exchange for links, such as a directory that they share with
   * this machine. Absent: at `dir`.
   */
  readonly trusted?: string;
  /** Most bytes; absent: half of what the cache has and what is free. */
  readonly capacity?: number | undefined;
  /** Drafts of another boot of the machine are not continued. */
  readonly bootId: string;
}

export interface WantedContent extends ContentPlace {
  readonly digest: string | null;
  readonly turns: FairTurns;
  readonly parallel: number;
  /** Called when a transfer ends, for one of the requests that wait for it; if none does, for the one that began it. */
  readonly onTransferred?: ((moved: TransferredBytes) => void) | undefined;
}

interface CachedItem extends EntryRecord {
  usedAtMs: number;
}

interface DraftWatch {
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
  readonly sent: SentBytes;
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
  #isClosing = false;
  #synced: Promise<void> = Promise.resolve();
  readonly #flights = new Flights();
  /** Bytes of downloads in progress, which the cache must be able to take in. */
  readonly #reserved = new Map<string, number>();
  /** Bytes of drafts whose transfer was cut, the oldest first. They are removed before any entry is evicted. */
  readonly #left = new Map<string, number>();
  readonly #leases = new Leases();
  readonly #digestThread = new DigestThread();
  #opened: Promise<void> | null = null;
  #folders: CacheFolders | null = null;
  #unlock: () => void = () => {};
  /** Called after the cache was opened, and whenever its entries change. */
  onChange: () => void = () => {};

  constructor(options: CacheOptions) {
    this.#options = options;
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
      // With the URI: who knows only the digest of bytes does not get them.
      const key = keyOf(`${wanted.digest} ${wanted.uri}`);
      this.#leases.take(holder, key);
      return this.#arrive(key, wanted, null, { signal, onStaged });
    }
    const found = await findContent(wanted, signal);
    const tags = found.files.map(({ name, object }) => [name, object.bytes, object.tag]);
    const key = keyOf(`${wanted.uri} ${JSON.stringify(tags)}`);
    // The folders may have been exchanged while the store answered.
    await this.#open();
    this.#leases.take(holder, key);
    return this.#arrive(key, wanted, found, { signal, onStaged });
  }

  release(holder: string): void {
    this.#leases.release(holder);
  }

  /** Drops the leases of all other holders of earlier processes: they ended while this process did not run. */
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

  async close(): Promise<void> {
    this.#isClosing = true;
    const landed = this.#flights.stop(new OperationalError("closing", "The control plane ends.", { retryable: true }));
    const ended = this.#digestThread.close();
    await landed;
    this.#unlock();
    await ended;
    await this.#letGo();
  }

  /** A folder that cannot be opened may be mounted later, and one that was removed is made again. */
  async #open(): Promise<void> {
    // Folders that are being read are not closed.
    await this.#opened;
    const folders = this.#folders;
    const isGone = folders !== null && this.#flights.size === 0 && !(await areThere(folders, this.#options.dir));
    // A transfer that began during the look uses the folders until it ends.
    if (isGone && this.#folders === folders && this.#flights.size === 0) {
      this.#opened = null;
      this.#items.clear();
      await this.#letGo();
    }
    this.#opened ??= this.#readEntries().catch(async (error: unknown) => {
      await this.#letGo();
      this.#opened = null;
      throw error;
    });
    await this.#opened;
  }

  async #readEntries(): Promise<void> {
    const folders = (this.#folders = await holdFolders(this.#options.dir, this.#options.trusted));
    const { entries } = folders;
    this.#unlock();
    this.#unlock = lockCache(folders, this.#options.dir);
    await this.#leases.open(folders.leases);
    for (const [name, bytes] of await readDrafts(folders)) this.#left.set(name, bytes);
    for (const key of await entryKeys(folders)) {
      let read: EntryRecord | null = null;
      try {
        read = await inEntry(folders, key, readEntry);
      } catch (error) {
        // Work that runs may use it. It is not removed, and the next opening reads it again.
        if (mayPass(error as NodeJS.ErrnoException)) continue;
      }
      const record = read === null ? null : recordInBoot(read, this.#options.bootId);
      if (record === null) {
        await removeOrLeave(entries, key);
        continue;
      }
      const item = { ...record, usedAtMs: Math.trunc((await lstat(entries.at(key))).mtimeMs) };
      this.#items.set(key, item);
      if (record.unsynced !== undefined) this.#syncLater(key, item);
    }
    this.onChange();
  }

  async #letGo(): Promise<void> {
    const folders = this.#folders;
    this.#folders = null;
    this.#leases.close();
    await closeFolders(folders);
  }

  #arrive(
    key: string,
    wanted: WantedContent,
    found: FoundContent | null,
    { signal, onStaged }: { readonly signal: AbortSignal; readonly onStaged: (staged: StagedBytes) => void },
  ): Promise<string> {
    const { onTransferred } = wanted;
    return this.#flights.join(key, { signal, onStaged, onTransferred }, (stop) => this.#fly(key, wanted, found, stop));
  }

  async #fly(key: string, wanted: WantedContent, found: FoundContent | null, signal: AbortSignal): Promise<string> {
    const sinceMs = performance.now();
    const sent = new SentBytes();
    const folders = this.#held;
    let draft: HeldDirectory | null = null;
    const openDraft = async (): Promise<HeldDirectory> => (draft = await makeDraft(folders, key));
    let isFailed = true;
    try {
      const at = await this.#bring(key, wanted, { known: found, signal, sent, openDraft });
      isFailed = false;
      return at;
    } finally {
      // Nobody hears of them any more: the next process reports the bytes of complete parts.
      const bytes = this.#isClosing ? 0 : await sent.take();
      const tookMs = Math.round(performance.now() - sinceMs);
      const onTransferred = this.#flights.reporterOf(key) ?? wanted.onTransferred;
      if (bytes > 0) onTransferred?.({ bytes, tookMs, isFailed, isResumed: sent.isResumed });
      await (draft as HeldDirectory | null)?.close();
      const left = await draftBytes(folders, key).catch(() => 0);
      this.#reserved.delete(key);
      if (left > 0) this.#left.set(key, left);
    }
  }

  async #bring(
    key: string,
    wanted: WantedContent,
    {
      known,
      signal,
      sent,
      openDraft,
    }: {
      readonly known: FoundContent | null;
      readonly signal: AbortSignal;
      readonly sent: SentBytes;
      readonly openDraft: () => Promise<HeldDirectory>;
    },
  ): Promise<string> {
    const { entries, drafts } = this.#held;
    const item = this.#items.get(key);
    if (item !== undefined) {
      const intact = await inEntry(this.#held, key, (dir) => intactRecord(dir, item, signal)).catch(unlessGone);
      if (intact === item) return this.#use(key, item);
      if (intact !== null) return this.#use(key, { ...intact, usedAtMs: item.usedAtMs });
      this.#items.delete(key);
      await entries.remove(key);
    }
    const found = known ?? (await findContent(wanted, signal));
    await this.#makeSpace(key, found.bytes);
    let bytes = 0;
    const { digest, uri } = wanted;
    const onBytes = (more: number): void => {
      sent.add(more);
      this.#flights.tell(key, { bytes: (bytes += more), totalBytes: found.bytes });
    };
    onBytes(0);
    const draft = { dir: await openDraft(), key, bootId: this.#options.bootId };
    await sent.open(draft.dir);
    await this.#download(draft, wanted, found, { signal, onBytes, sent });
    await sent.forget();
    const about = { uri, digest, bytes: found.bytes, stagedAtMs: Date.now(), unsynced: this.#options.bootId };
    const record = await sealDraft(draft.dir, about);
    await entries.remove(key);
    await rename(drafts.at(key), entries.at(key));
    const staged = { ...record, usedAtMs: record.stagedAtMs };
    const at = await this.#use(key, staged);
    this.#syncLater(key, staged);
    // Also for the entries that were evicted for it.
    this.onChange();
    return at;
  }

  /** One after another, while work already uses the bytes. An entry that is not synced is checked after a restart of the machine. */
  #syncLater(key: string, item: CachedItem): void {
    const isStillThere = (): boolean => !this.#isClosing && this.#items.get(key) === item;
    this.#synced = this.#synced
      .then(async () => {
        if (!isStillThere()) return;
        await inEntry(this.#held, key, (dir) => syncEntry(dir, isStillThere));
        if (isStillThere()) syncPath(this.#held.entries.path);
      })
      .catch((error: unknown) => this.#unsaved(key, item, error));
  }

  /** The disk refused the bytes, and readers could get others once the memory of the machine drops them: nobody else gets them. */
  async #unsaved(key: string, item: CachedItem, error: unknown): Promise<void> {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || this.#items.get(key) !== item) return;
    this.#items.delete(key);
    try {
      await inEntry(this.#held, key, forgetRecord);
    } catch (cause) {
      process.emitWarning(`${this.#entry(key)} could not be marked as unsaved (${String(cause)}). Remove it.`);
    }
    if (this.#isClosing) return;
    process.emitWarning(
      `${item.uri} could not be written to the disk (${code ?? String(error)}) in ${this.#options.dir}. Work that uses it now may read wrong bytes; the next start reads it again. Check the disk.`,
    );
    this.onChange();
  }

  /** Rejects if the bytes are not those of the version. */
  async #download(
    draft: { readonly dir: HeldDirectory; readonly key: string; readonly bootId: string },
    { digest, uri, store, turns, parallel }: WantedContent,
    found: FoundContent,
    { signal, onBytes, sent }: DraftWatch,
  ): Promise<void> {
    const isCompared = digest !== null || store.tagsAreDigests === true;
    const digests = isCompared ? this.#digestThread.begin(draftFiles(draft.dir, found), store.partBytes) : null;
    try {
      const watch = { onBytes, onKept: sent.keep, onPart: sent.complete };
      await download({ store, turns, holder: onBytes, uri, parallel, signal, digests, ...watch }, found, draft);
      if (digests === null) return;
      try {
        if (digest === null) await checkBlobs(digests, found, { uri, signal });
        else checkDigest(await digests.digest(signal), { uri, digest });
      } catch (error) {
        // The next attempt must not go on with these bytes.
        if (!signal.aborted) await this.#held.drafts.remove(draft.key);
        throw error;
      }
      signal.throwIfAborted();
    } finally {
      digests?.end();
    }
  }

  async #use(key: string, item: CachedItem): Promise<string> {
    const now = new Date();
    item.usedAtMs = now.getTime();
    this.#reserved.delete(key);
    this.#items.set(key, item);
    // The time of the directory is that of the last use, also for a later process.
    await inEntry(this.#held, key, (dir) => dir.touch(now));
    return contentOf(this.#entry(key));
  }

  /** Evicts what nothing holds, longest unused first, until the bytes fit. */
  async #makeSpace(key: string, bytes: number): Promise<void> {
    this.#reserved.set(key, bytes);
    const capacity = await this.#capacity();
    this.#left.delete(key);
    for (const draft of this.#left.keys()) {
      if (this.#bytes() <= capacity) break;
      if (this.#flights.has(draft)) continue;
      this.#left.delete(draft);
      await this.#discard(this.#held.drafts.at(draft));
    }
    const free = [...this.#items]
      .filter(([each]) => this.#leases.holdersOf(each).length === 0 && !this.#flights.has(each))
      .toSorted(([, left], [, right]) => left.usedAtMs - right.usedAtMs);
    for (const [victim] of free) {
      if (this.#bytes() <= capacity) break;
      // Taken while an earlier one was removed.
      if (this.#leases.holdersOf(victim).length > 0 || this.#flights.has(victim)) continue;
      this.#items.delete(victim);
      await this.#discard(this.#held.entries.at(victim));
    }
    if (this.#bytes() <= capacity) return;
    throw new OperationalError(
      "cacheFull",
      `The cache in ${this.#options.dir} has no space for ${bytes} bytes: ${this.#bytes() - bytes} of ${capacity} are held by work that runs or starts. Enlarge it with a store of the type local, or wait until that work ends.`,
      { retryable: true },
    );
  }

  /** Takes the name away at once, so that nothing uses a folder that is being removed. */
  async #discard(dir: string): Promise<void> {
    const gone = `gone-${randomUUID()}`;
    const { drafts } = this.#held;
    try {
      renameSync(dir, drafts.at(gone));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      throw error;
    }
    await drafts.remove(gone);
  }

  /** Bytes of the entries, of the downloads in progress and of those that were cut. */
  #bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#items.values()) sum += bytes;
    for (const bytes of this.#reserved.values()) sum += bytes;
    for (const bytes of this.#left.values()) sum += bytes;
    return sum;
  }

  async #capacity(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#held.dir.path);
    let held = this.#flights.stagedBytes;
    for (const { bytes } of this.#items.values()) held += bytes;
    for (const bytes of this.#left.values()) held += bytes;
    const possible = Math.max(0, held + bavail * bsize - SPARE_BYTES);
    return Math.min(this.#options.capacity ?? Math.trunc(possible / 2), possible);
  }

  get #held(): CacheFolders {
    if (this.#folders === null) throw new OperationalError("closing", "The cache is closed.", { retryable: true });
    return this.#folders;
  }

  /** Its path, as work opens it. */
  #entry(key: string): string {
    return path.join(this.#options.dir, "entries", key);
  }
}

/** A name that is safe as a directory, whatever a version or a URI contains. */
const keyOf = (text: string): string => createHash("sha256").update(text).digest("hex");
