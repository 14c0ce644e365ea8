/** Entries that holders use, such as attempts: one file for each holder, so that a restart knows them. */
import { rmSync } from "node:fs";
import { writePrivateFile } from "@headroom/platform";
import type { HeldDirectory } from "@headroom/platform";
import { KEY } from "./cache-folders.ts";
import { readSmall } from "./unless-foreign.ts";

/** A plain name of a file, such as that of an attempt's directory. */
const HOLDER = /^[^./][^/]{0,200}$/;

/** Most that is read of the folder. Jobs of this user can fill it, and all of it is held in memory. */
const readMax = { holders: 100_000, keys: 1_000_000 } as const;

export class Leases {
  readonly #readMax: { readonly holders: number; readonly keys: number };
  #dir: HeldDirectory | null = null;
  readonly #keys = new Map<string, Set<string>>();
  /** Holders of an earlier process that have taken nothing in this one. */
  readonly #earlier = new Set<string>();

  constructor(max: { readonly holders: number; readonly keys: number } = readMax) {
    this.#readMax = max;
  }

  /** A folder that takes the place of another one gets the holders that are known. */
  async open(dir: HeldDirectory): Promise<void> {
    const unread = new Set(this.#keys.keys());
    let keyCount = 0;
    for (const holder of await dir.names(this.#readMax.holders)) {
      const text = await readSmall(dir, holder);
      if (text === null) await dir.remove(holder);
      else if (!this.#keys.has(holder) || this.#earlier.has(holder)) {
        // A kill can cut the last line; the attempt was then not launched, and takes its lease again.
        const keys = text
          .split("\n")
          .slice(0, -1)
          .filter((line) => KEY.test(line));
        keyCount += keys.length;
        if (keyCount > this.#readMax.keys) break;
        this.#keys.set(holder, new Set(keys));
        this.#earlier.add(holder);
        unread.delete(holder);
      }
    }
    this.#dir = dir;
    for (const holder of unread) this.#write(holder);
  }

  /** Nothing is written until it is opened again. */
  close(): void {
    this.#dir = null;
  }

  take(holder: string, key: string): void {
    if (!HOLDER.test(holder)) throw new Error(`${holder} is no name of a holder`);
    this.#earlier.delete(holder);
    const keys = this.#keys.get(holder) ?? new Set();
    if (keys.has(key)) return;
    keys.add(key);
    this.#keys.set(holder, keys);
    this.#write(holder);
  }

  #write(holder: string): void {
    const keys = this.#keys.get(holder) ?? [];
    if (this.#dir !== null) writePrivateFile(this.#dir.at(holder), [...keys, ""].join("\n"));
  }

  release(holder: string): void {
    if (!this.#keys.delete(holder)) return;
    if (this.#dir !== null) rmSync(this.#dir.at(holder), { force: true });
  }

  /** Holders of this process stay: an attempt takes its lease before its launch is recorded. */
  keep(holders: ReadonlySet<string>): void {
    for (const holder of this.#earlier) if (!holders.has(holder)) this.release(holder);
    this.#earlier.clear();
  }

  holdersOf(key: string): readonly string[] {
    return [...this.#keys].filter(([, keys]) => keys.has(key)).map(([holder]) => holder);
  }
}
