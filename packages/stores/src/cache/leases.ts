/** Entries that holders use, such as attempts: one file for each holder, so that a restart knows them. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";

/** A plain name of a file, such as that of an attempt's directory. */
const HOLDER = /^[^./][^/]{0,200}$/;

export class Leases {
  readonly #dir: string;
  readonly #keys = new Map<string, Set<string>>();
  /** Holders of an earlier process that have taken nothing in this one. */
  readonly #earlier = new Set<string>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  open(): void {
    makeDirectory(this.#dir, 0o700);
    for (const holder of readdirSync(this.#dir)) {
      // A kill can cut the last line; the attempt was then not launched, and takes its lease again.
      const lines = readFileSync(path.join(this.#dir, holder), "utf8").split("\n").slice(0, -1);
      this.#keys.set(holder, new Set(lines));
      this.#earlier.add(holder);
    }
  }

  take(holder: string, key: string): void {
    if (!HOLDER.test(holder)) throw new Error(`${holder} is no name of a holder`);
    this.#earlier.delete(holder);
    const keys = this.#keys.get(holder) ?? new Set();
    if (keys.has(key)) return;
    keys.add(key);
    this.#keys.set(holder, keys);
    writeFileSync(path.join(this.#dir, holder), [...keys, ""].join("\n"), { mode: 0o600 });
  }

  release(holder: string): void {
    if (!this.#keys.delete(holder)) return;
    rmSync(path.join(this.#dir, holder), { force: true });
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
