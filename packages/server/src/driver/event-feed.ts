/**
 * The durable events for any number of readers. The newest ones are kept once, for all; whoever is behind that reads the
 * journal, page by page. So a reader costs nothing but its position, however slow it is.
 */
import type { Event } from "@headroom/engine";
import type { Journal, RecordedGroup } from "../journal/journal.ts";
import type { SequencedEvent } from "./driver.ts";

/** What is kept for readers that keep up: a few seconds of heavy use, a few MiB. */
const RECENT_EVENTS_MAX = 8_192;

interface EventGroup {
  readonly firstSequence: number;
  readonly events: readonly Event[];
}

export class EventFeed {
  readonly #journal: Journal;
  readonly #recent: EventGroup[] = [];
  #recentCount = 0;
  #headSequence: number;
  #isClosed = false;
  readonly #sleepers = new Set<() => void>();

  constructor(journal: Journal, headSequence: number) {
    this.#journal = journal;
    this.#headSequence = headSequence;
  }

  /** The group is durable. */
  publish(firstSequence: number, events: readonly Event[]): void {
    this.#recent.push({ firstSequence, events });
    this.#recentCount += events.length;
    while (this.#recentCount > RECENT_EVENTS_MAX && this.#recent.length > 1) {
      this.#recentCount -= this.#recent.shift()?.events.length ?? 0;
    }
    this.#headSequence = firstSequence + events.length - 1;
    this.#wakeAll();
  }

  close(): void {
    this.#isClosed = true;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#sleepers) wake();
    this.#sleepers.clear();
  }

  async *read(fromSequence: number, signal: AbortSignal): AsyncGenerator<SequencedEvent> {
    let next = Math.max(1, fromSequence);
    while (!signal.aborted && !this.#isClosed) {
      if (next > this.#headSequence) {
        await this.#newer(signal);
        continue;
      }
      for (const { firstSequence, events } of await this.#groupsUntilClosed(next)) {
        for (let index = next - firstSequence; index < events.length; index++) {
          const event = events[index];
          if (event === undefined || signal.aborted) return;
          next = firstSequence + index + 1;
          yield { sequence: next - 1, event };
        }
      }
    }
  }

  /** A read that the closing of the journal cut off is the end of the stream, not a failure. */
  async #groupsUntilClosed(sequence: number): Promise<readonly EventGroup[]> {
    try {
      return await this.#groupsFrom(sequence);
    } catch (error) {
      if (this.#isClosed) return [];
      throw error;
    }
  }

  /** At least the group that holds `sequence`, which is durable. */
  async #groupsFrom(sequence: number): Promise<readonly EventGroup[]> {
    // From the newest back: whoever keeps up finds its place at once.
    const index = this.#recent.findLastIndex(({ firstSequence }) => firstSequence <= sequence);
    if (index >= 0) return this.#recent.slice(index);
    return (await this.#journal.readGroups(sequence)).map(parseGroup);
  }

  async #newer(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#sleepers.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    signal.removeEventListener("abort", wake);
    this.#sleepers.delete(wake);
  }
}

function parseGroup({ firstSequence, text }: RecordedGroup): EventGroup {
  // The journal holds what this program wrote and its chain vouches for; it is not validated again.
  return { firstSequence, events: JSON.parse(text) as Event[] };
}
