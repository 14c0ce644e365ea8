/**
 * A copy of all objects of one kind, kept up to date by a list and watches (kubernetes.io/docs/reference/using-api/api-concepts,
 * "Efficient detection of changes"). A failed or refused answer changes nothing: the copy stays as it was, and `problem` says why it
 * may be out of date.
 */
import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import type { Connection } from "./connection.ts";
import { messageOf, StreamRefused, unreachable } from "./connection.ts";
import type { KubernetesObject } from "./objects.ts";
import { objectKey } from "./objects.ts";
import { pause } from "./pause.ts";

export interface ReflectorSetup<Item extends KubernetesObject> {
  readonly connection: Pick<Connection, "answer" | "stream">;
  /** Path of the collection. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly watchMs: number;
  /** The parts of an object that are kept. A list can have 20,000 objects. */
  readonly keep: (item: Item) => Item;
  /** Called after each change of an object; `null`: of any number of objects. */
  readonly onChange: (item: Item | null) => void;
}

interface ObjectList<Item> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly Item[];
}

interface WatchEvent<Item> {
  readonly type: string;
  readonly object: Item & { readonly code?: number; readonly message?: string };
}

const PAGE_SIZE = 500;
/** Age in ms of a list after which everything is listed again, because a wrong list goes unnoticed. */
const RELIST_MS = 600_000;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 5_000;
/** Time in ms after the end of a watch by which the server should have closed it. */
const WATCH_SLACK_MS = 5_000;

/** The server has forgotten the version from which to go on: everything is listed again. */
class Outdated extends Error {
  override readonly name = "Outdated";
}

export class Reflector<Item extends KubernetesObject> {
  readonly #setup: ReflectorSetup<Item>;
  readonly #stopped = new AbortController();
  #items = new Map<string, Item>();
  #version: string | null = null;
  #problem: string | null = "the server has not answered yet";
  #listedAtMs = 0;
  readonly #waiters = new Set<() => void>();
  #running: Promise<void> = Promise.resolve();

  constructor(setup: ReflectorSetup<Item>) {
    this.#setup = setup;
  }

  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  /** Puts an object into the copy that was read by itself: a list may have left it out. */
  put(item: Item): void {
    const kept = this.#setup.keep(item);
    this.#items.set(objectKey(item.metadata), kept);
    this.#setup.onChange(kept);
  }

  /** `null`: the copy is up to date, as far as a watch can tell. */
  get problem(): string | null {
    return this.#problem;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when the copy is up to date. Throws with the problem after the time limit. */
  async upToDate(timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    while (this.#problem !== null) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0 || this.#stopped.signal.aborted) throw unreachable(`${this.#setup.path}: ${this.#problem}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiters.add(resolve);
      const timer = setTimeout(resolve, leftMs);
      await promise;
      clearTimeout(timer);
      this.#waiters.delete(resolve);
    }
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    let retryMs = RETRY_FIRST_MS;
    while (!this.#stopped.signal.aborted) {
      try {
        const isOld = performance.now() - this.#listedAtMs > RELIST_MS;
        if (this.#version === null || isOld) await this.#list();
        if (await this.#watch()) retryMs = RETRY_FIRST_MS;
        else {
          // A proxy that ends every watch at once must not be called without a pause.
          await pause(retryMs, this.#stopped.signal);
          retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
        }
      } catch (error) {
        if (this.#stopped.signal.aborted) return;
        if (error instanceof Outdated) this.#version = null;
        else this.#problem = messageOf(error);
        await pause(retryMs, this.#stopped.signal);
        retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
      }
    }
  }

  /** The new list takes the place of the copy when it is whole. */
  async #list(): Promise<void> {
    const { connection, path, labelSelector, keep, onChange } = this.#setup;
    const items = new Map<string, Item>();
    let next: string | undefined;
    let version: string | undefined;
    do {
      const query = { limit: PAGE_SIZE, ...(next === undefined ? {} : { continue: next }), labelSelector };
      const page: ObjectList<Item> = await connection.answer({ method: "GET", path, query });
      if (!Array.isArray(page.items)) throw new Error("the answer is no list");
      for (const item of page.items as readonly Item[]) items.set(objectKey(item.metadata), keep(item));
      version ??= page.metadata?.resourceVersion;
      next = page.metadata?.continue === "" ? undefined : page.metadata?.continue;
    } while (next !== undefined && !this.#stopped.signal.aborted);
    if (version === undefined || version === "") throw new Error("the list has no version");
    if (this.#stopped.signal.aborted) return;
    this.#items = items;
    this.#version = version;
    this.#listedAtMs = performance.now();
    this.#problem = null;
    onChange(null);
    this.#wake();
  }

  /** Follows changes until the watch ends. Returns whether it was opened and brought something, or lasted its time. */
  async #watch(): Promise<boolean> {
    const { connection, path, labelSelector, watchMs } = this.#setup;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), watchMs + WATCH_SLACK_MS);
    const signal = AbortSignal.any([this.#stopped.signal, late.signal]);
    let response: IncomingMessage | null = null;
    try {
      const query = {
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: this.#version ?? "",
        timeoutSeconds: Math.ceil(watchMs / 1_000),
        labelSelector,
      };
      response = await connection.stream({ method: "GET", path, query }, signal);
      this.#problem = null;
      this.#wake();
      const lines = createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY });
      // The interface does not pass on an error of its input.
      response.on("error", () => lines.close());
      const openedAtMs = performance.now();
      let count = 0;
      for await (const line of lines) {
        if (line === "") continue;
        this.#take(eventOf(line));
        count += 1;
      }
      return count > 0 || performance.now() - openedAtMs > RETRY_MAX_MS;
    } catch (error) {
      if (late.signal.aborted) return true;
      if (error instanceof StreamRefused && error.status === 410) throw new Outdated();
      throw error;
    } finally {
      clearTimeout(timer);
      response?.destroy();
    }
  }

  #take({ type, object }: WatchEvent<Item>): void {
    if (type === "ERROR") {
      if (object.code === 410) throw new Outdated();
      throw new Error(`the watch ended: ${object.message ?? "no reason"}`);
    }
    const { metadata } = object;
    if (metadata?.resourceVersion === undefined) throw new Error("the watch gave an object without a version");
    this.#version = metadata.resourceVersion;
    if (type === "BOOKMARK") return;
    const item = this.#setup.keep(object);
    if (type === "DELETED") this.#items.delete(objectKey(metadata));
    else this.#items.set(objectKey(metadata), item);
    this.#setup.onChange(item);
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve();
  }
}

/** A line that was cut off ends the watch; the next one goes on from the version before it. */
function eventOf<Item>(line: string): WatchEvent<Item> {
  const event = JSON.parse(line) as WatchEvent<Item> | null;
  if (typeof event?.type !== "string" || typeof event.object !== "object") throw new Error("the watch gave no event");
  return event;
}
