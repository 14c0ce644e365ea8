/**
 * The memory of the service of node signals: signals that were there, nodes whose proof is owed, when each executor answered last,
 * and periods in which nobody looked. Stored in `node-signals.json` in the state directory. A damaged or missing file is replaced: the
 * service begins again.
 */
import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import path from "node:path";
import type { ExecutorId, NodeId } from "@headroom/model";
import { z } from "zod";
import type { DriverLog } from "../driver/driver-log.ts";
import { messageOf } from "./within.ts";

const FILE = "node-signals.json";
/** Interval in ms at which the times of answers are stored while nothing else changes: a quick restart is no unwatched period. */
const STORE_EVERY_MS = 10_000;
/** Periods that are kept, the newest. */
const PERIODS_MAX = 20;

/** A signal that was there in a recent look. */
export interface KnownSignal {
  misses: number;
  /** Whether the node has to qualify when the signal ends, if its pool has a rule. */
  isWithdrawal: boolean;
  /** Number of the look in which it was reported last; 0: by an earlier process; `null`: not at all. */
  reportedAt: number | null;
}

/** A period in which nobody looked at the nodes of an executor. Times in ms. */
export interface UnwatchedRecord {
  readonly executor: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Number of signals that ended in it, as far as the executor keeps them. */
  readonly signals: number;
  /** A sentence about signals of the period that are not known. */
  readonly unknown: string;
}

const signal = z.tuple([z.string(), z.boolean(), z.boolean()]);
const stored = z.object({
  format: z.literal(1),
  answeredAtMs: z.array(z.tuple([z.string(), z.number().int()])),
  known: z.array(z.tuple([z.string(), z.array(signal)])),
  owed: z.array(z.tuple([z.string(), z.enum(["began", "ended"])])).default([]),
  unwatched: z.array(
    z.object({
      executor: z.string(),
      fromMs: z.number().int(),
      untilMs: z.number().int(),
      signals: z.number().int(),
      unknown: z.string(),
    }),
  ),
});

export class SignalMemory {
  /** Signals by node and code. */
  readonly known = new Map<NodeId, Map<string, KnownSignal>>();
  /** Nodes that have to qualify because a signal began or ended, until the command for it is accepted. */
  readonly owed = new Map<NodeId, "began" | "ended">();
  /** Time in ms of the newest complete answer, by executor. */
  readonly answeredAtMs = new Map<ExecutorId, number>();
  #unwatched: readonly UnwatchedRecord[] = [];
  readonly #file: string | null;
  readonly #log: Pick<DriverLog, "warn">;
  #lasting = "";
  #storedAtMs = 0;

  /** `home`: the state directory; `null`: nothing is stored. */
  constructor(home: string | null, log: Pick<DriverLog, "warn">) {
    this.#file = home === null ? null : path.join(home, FILE);
    this.#log = log;
    const before = this.#file === null ? null : readStored(this.#file);
    if (before === null) return;
    for (const [id, atMs] of before.answeredAtMs) this.answeredAtMs.set(id, atMs);
    for (const [node, signals] of before.known) {
      const own = signals.map(([code, isWithdrawal, isReported]): [string, KnownSignal] => [
        code,
        { misses: 0, isWithdrawal, reportedAt: isReported ? 0 : null },
      ]);
      this.known.set(node as NodeId, new Map(own));
    }
    for (const [node, change] of before.owed) this.owed.set(node as NodeId, change);
    this.#unwatched = before.unwatched;
  }

  /** The newest first. */
  get unwatched(): readonly UnwatchedRecord[] {
    return this.#unwatched;
  }

  addUnwatched(record: UnwatchedRecord): void {
    this.#unwatched = [record, ...this.#unwatched].slice(0, PERIODS_MAX);
  }

  /** Stores what has changed. Never rejects. */
  async store(nowMs: number): Promise<void> {
    if (this.#file === null) return;
    const known = [...this.known].map(([node, signals]) => [
      node,
      [...signals].map(([code, { isWithdrawal, reportedAt }]) => [code, isWithdrawal, reportedAt !== null]),
    ]);
    const lasting = { known, owed: [...this.owed], unwatched: this.#unwatched };
    const text = JSON.stringify(lasting);
    if (text === this.#lasting && Math.abs(nowMs - this.#storedAtMs) < STORE_EVERY_MS) return;
    try {
      const content = JSON.stringify({ format: 1, answeredAtMs: [...this.answeredAtMs], ...lasting });
      await writeFile(`${this.#file}.${process.pid}`, content, { mode: 0o600 });
      await rename(`${this.#file}.${process.pid}`, this.#file);
    } catch (error) {
      this.#log.warn(`The signals of nodes were not stored: ${messageOf(error)}`);
    }
    this.#lasting = text;
    this.#storedAtMs = nowMs;
  }
}

function readStored(file: string): z.output<typeof stored> | null {
  try {
    return stored.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return null;
  }
}
