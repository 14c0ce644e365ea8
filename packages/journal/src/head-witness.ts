/**
 * `head.witness` contains the newest event that the journal has synced, and is stored outside its database. SQLite
 * treats a truncated write-ahead log or an empty database as a journal that ends earlier; this file detects that. It is
 * written after the sync of an append and is not synced itself. So it can be behind the journal after a power cut, but
 * is never ahead of it.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";
import type { JournalHead } from "./ports.ts";

export interface HeadWitness {
  readonly journalId: string;
  readonly sequence: number;
  readonly chain: string;
}

/** Length in bytes of the file, which is written with a single call. If only a part is written, the checksum fails. */
const LINE_BYTES = 256;
const CHECKSUM_LENGTH = 16;

export const witnessPath = (directory: string): string => path.join(directory, "head.witness");

/** The witness; `null`: the file is missing or damaged. */
export function readWitness(directory: string): HeadWitness | null {
  try {
    const [body = "", checksum] = readFileSync(witnessPath(directory), "utf8").trimEnd().split("\t");
    if (checksum !== checksumOf(body)) return null;
    return JSON.parse(body) as HeadWitness;
  } catch {
    return null;
  }
}

export class WitnessWriter {
  readonly #journalId: string;
  readonly #file: number;

  constructor(directory: string, journalId: string) {
    this.#journalId = journalId;
    this.#file = openSync(witnessPath(directory), constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** Records that the journal is durable up to this event. */
  write({ sequence, chain }: Pick<JournalHead, "sequence" | "chain">): void {
    if (chain === null) return;
    const body = JSON.stringify({ journalId: this.#journalId, sequence, chain } satisfies HeadWitness);
    writeSync(this.#file, `${`${body}\t${checksumOf(body)}`.padEnd(LINE_BYTES - 1)}\n`, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}

function checksumOf(body: string): string {
  return createHash("sha256").update(body).digest("hex").slice(0, CHECKSUM_LENGTH);
}
