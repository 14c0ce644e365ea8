/** Entries that holders use, such as attempts: one file for each holder, so that a restart knows them. */
import { constants, readdirSync, readFileSync, rmSync } from "node:fs";
import { writePrivateFile } from "@headroom/platform";
import type { HeldDirectory } from "@headroom/platform";

/** A plain name of a file, such as that of an attempt's directory. */
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const HOLDER = /^[^./][^/]{0,200}$/;
const READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

export class Leases {
  #dir: HeldDirectory | null = null;
  readonly #keys = new Map<string, Set<string>>();
  /** Holders of an earlier process that have taken nothing in this one. */
  readonly #earlier = new Set<string>();

  open(dir: HeldDirectory): void {
    this.#dir = dir;
    for (const holder of readdirSync(dir.path)) {
      // A kill can cut the last line; the attempt was then not launched, and takes its lease again.
      const lines = readFileSync(dir.at(holder), { encoding: "utf8", flag: READ }).split("\n").slice(0, -1);
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
