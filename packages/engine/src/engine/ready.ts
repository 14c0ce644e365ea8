/** The contract between the engine and its drivers, shaped like etcd's raft `Ready`. */
import type { Effect } from "../contract/effects.ts";
import type { Event } from "../contract/events.ts";
import type { Input } from "../contract/inputs.ts";
import type { Reply } from "../contract/replies.ts";
import type { ReadonlyState } from "../state/state.ts";

/** The events of one batch as they go into the journal: one group, one line of the hash chain. */
export interface JournalGroup {
  /** Sequence of the group's first event; sequences count from 1 without gaps. */
  readonly firstSequence: number;
  readonly count: number;
  /** `JSON.stringify(events)`: the exact text that is stored and hashed. */
  readonly text: string;
  /**
   * Hash of the chain before this group and `text`, 32 hex digits. Guards against damage, not against forgery. It is a
   * getter that formats on read, so copy a group field by field: a spread would drop it.
   */
  readonly chain: string;
}

/**
 * The result of one batch. The driver, in this order: appends and syncs `group`, calls `advance`, answers `replies`,
 * performs `effects`. Only then does it pass in the next batch.
 */
export interface Ready {
  readonly atMs: number;
  readonly events: readonly Event[];
  /** The events as journal text; `null`: nothing was recorded, so there is nothing to sync. */
  readonly group: JournalGroup | null;
  readonly replies: readonly Reply[];
  readonly effects: readonly Effect[];
}

export interface Engine {
  /**
   * Decides and applies in memory. Time never goes back: an earlier `nowMs` counts as the last one. Throws if `advance`
   * is due.
   */
  receive(inputs: readonly Input[], nowMs: number): Ready;
  /** States that `Ready.group` is durable; the next `receive` may follow. */
  advance(): void;
  /** The state as of the last batch. It must not be kept across a `receive`, nor written to. */
  readonly state: ReadonlyState;
  /**
   * The earliest instant at which time alone changes something; `null`: never. It may be too early but is never late.
   */
  nextWakeAtMs(): number | null;
  /**
   * The effects that a crash may have lost: a launch for every attempt that never reported running, all workers of
   * every gang that may have grown, and a stop for every attempt that should stop. Executors are idempotent, so a
   * driver performs all of them after recovery.
   */
  outstandingEffects(): readonly Effect[];
  /** Canonical digest of the state, 32 hex digits. Its cost follows what changed since the last call. */
  digest(): string;
  /** The whole state as bytes (UTF-8 JSON); also the format in which forks travel to worker threads. */
  snapshot(): Uint8Array;
}
