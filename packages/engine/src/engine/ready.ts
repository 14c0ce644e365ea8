/** The contract between the engine and its drivers, shaped like etcd's raft `Ready`. */
import type { Effect, Event, Input, Reply } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

/** The events of one batch as they go into the journal. One group has one hash in the hash chain. */
export interface JournalGroup {
  /** Sequence of the group's first event; sequences count from 1 without gaps. */
  readonly firstSequence: number;
  readonly count: number;
  /** `JSON.stringify(events)`: the exact text that is stored and hashed. */
  readonly text: string;
  /**
   * Hash over the chain before this group and `text`, as 32 hex digits. It detects damage, not forgery. It is a getter
   * that formats on read, so copy a group field by field: a spread would drop it.
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
  /** The events as journal text. `null` if nothing was recorded, so that there is nothing to sync. */
  readonly group: JournalGroup | null;
  readonly replies: readonly Reply[];
  readonly effects: readonly Effect[];
  /** Whether the batch was cut at its bound, so that the next one should follow at once and continue it. */
  readonly isCut: boolean;
}

export interface Engine {
  /**
   * Decides and applies the inputs in memory. Time never goes back: an earlier `nowMs` is replaced by the previous one.
   * Throws if `advance` was not called after the last batch.
   */
  receive(inputs: readonly Input[], nowMs: number): Ready;
  /** States that `Ready.group` is durable; the next `receive` may follow. */
  advance(): void;
  /** The state after the last batch. Do not write to it, and do not keep it across a call of `receive`. */
  readonly state: ReadonlyState;
  /** Another number after each batch in which a node joined, left, or changed whether work may use it. */
  readonly fleetEpoch: number;
  /**
   * The earliest instant at which time alone changes something. `null` if there is no such instant. It may be too early
   * but is never late.
   */
  nextWakeAtMs(): number | null;
  /**
   * The effects that a crash may have lost: a launch for every attempt that never reported running, all workers of
   * every gang that may have grown, and a stop for every attempt that should stop. Executors are idempotent, so a
   * driver performs all of them after recovery.
   */
  outstandingEffects(): readonly Effect[];
  /**
   * Digest of the state, 32 hex digits: equal states have equal digests. Its cost depends on the changes since the last
   * call.
   */
  digest(): string;
  /** The whole state as bytes (UTF-8 JSON); also the format in which forks travel to worker threads. */
  snapshot(): Uint8Array;
}
