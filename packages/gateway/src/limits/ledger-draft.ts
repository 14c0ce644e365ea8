/**
 * A new file of a ledger, written in parts while the old file is in use. A kill leaves the old file as it is.
 */
import { closeSync, openSync, renameSync, writeSync } from "node:fs";
import { DefinitionTable, type LedgerChange } from "./ledger-change.ts";

export class LedgerDraft {
  readonly #path: string;
  readonly fd: number;
  readonly definitions = new DefinitionTable();
  bytes = 0;
  #pending: string;

  /** Throws if the file cannot be opened. `header` is its first line. */
  constructor(path: string, header: string) {
    this.#path = path;
    this.fd = openSync(`${path}.new`, "w", 0o600);
    this.#pending = header;
  }

  add(change: LedgerChange): void {
    this.#pending += this.definitions.linesOf(change);
  }

  /** Writes what was added. Throws if that is not possible. */
  write(): void {
    const bytes = Buffer.from(this.#pending);
    this.#pending = "";
    for (let at = 0; at < bytes.length;) at += writeSync(this.fd, bytes, at);
    this.bytes += bytes.length;
  }

  /** Puts the file in the place of the old one. Throws if that is not possible. */
  replaceOld(): void {
    this.write();
    renameSync(`${this.#path}.new`, this.#path);
  }

  drop(): void {
    closeSync(this.fd);
  }
}
