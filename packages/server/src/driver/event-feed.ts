/**
 * The durable events for any number of readers. The newest events are kept once for all readers; a reader further
 * behind reads the journal page by page. A reader uses memory for its position and for at most one piece of a page,
 * however slow it is.
 */
import type { Event } from "@headroom/model";
import { eventsOf, framePage } from "@headroom/journal";
import type { EventFormat, EventPage } from "@headroom/journal";
import type { Journal, MentionPage } from "@headroom/journal";
import { OperationalError } from "@headroom/platform";
import type { SequencedEvent } from "./driver.ts";
import { EventPages, holds, piecesFrom } from "./event-pages.ts";
import { LoopTurns } from "./loop-turns.ts";

/** Number of events kept in memory for readers that are up to date: a few seconds of heavy use, a few MiB. */
const RECENT_EVENTS_MAX = 8_192;
/**
 * Maximum number of recent events converted to bytes at once. The conversion blocks the loop for less than a
 * millisecond.
 */
const RECENT_PAGE_EVENTS_MAX = 128;
/** Maximum number of bytes passed to a reader at a time. It limits the unread data of a reader that does not read. */
const PIECE_BYTES_MAX = 32 * 1024;
/** Time in ms after which a reader of parsed events lets other jobs use the event loop. */
const SLICE_MS = 1;

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
  readonly #turns = new LoopTurns();
  readonly #pages: EventPages;

  constructor(journal: Journal, headSequence: number) {
    this.#journal = journal;
    this.#pages = new EventPages((sequence, format) => journal.readPage(sequence, format));
    this.#headSequence = headSequence;
  }

  /** Called when a group is durable. */
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
      const groups = await this.#untilClosed(() => this.#groupsFrom(next));
      let sinceMs = performance.now();
      for (const { firstSequence, events } of groups ?? []) {
        for (let index = next - firstSequence; index < events.length; index++) {
          const event = events[index];
          if (event === undefined || signal.aborted) return;
          next = firstSequence + index + 1;
          yield { sequence: next - 1, event };
          if (performance.now() - sinceMs < SLICE_MS) continue;
          await this.#turns.next();
          sinceMs = performance.now();
        }
      }
    }
  }

  /** Recorded events from `fromSequence` to the present end of the journal, in groups whose text contains `text`. */
  async *mentions(fromSequence: number, text: string): AsyncGenerator<SequencedEvent> {
    const head = this.#headSequence;
    for (let from: number | null = fromSequence; from !== null && from <= head;) {
      const page: MentionPage = await this.#journal.readMentions(from, text);
      await this.#turns.next();
      for (const group of page.groups) {
        for (const [index, event] of eventsOf(group).entries()) {
          const sequence = group.firstSequence + index;
          if (sequence >= fromSequence && sequence <= head) yield { sequence, event };
        }
      }
      from = page.nextSequence;
    }
  }

  /** The events as bytes, in pieces of whole events. All readers of a format share the pieces. */
  async *frames(fromSequence: number, format: EventFormat, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let next = Math.max(1, fromSequence);
    while (!signal.aborted && !this.#isClosed) {
      if (next > this.#headSequence) {
        await this.#newer(signal);
        continue;
      }
      const page = await this.#untilClosed(async () => this.#recentPage(next, format) ?? this.#pageOf(next, format));
      if (page === null) return;
      for (const { bytes, nextSequence } of piecesFrom(page, next, PIECE_BYTES_MAX)) {
        if (signal.aborted) return;
        yield bytes;
        next = nextSequence;
      }
    }
  }

  /**
   * The result of a journal read; `null`: closing the journal interrupted the read, which ends the stream without a
   * failure.
   */
  async #untilClosed<T>(read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (this.#isClosed) return null;
      throw error;
    }
  }

  /** Groups from the journal, among them the group that contains `sequence`, which is durable. */
  async #groupsFrom(sequence: number): Promise<readonly EventGroup[]> {
    const index = this.#recentIndex(sequence);
    if (index >= 0) return this.#recent.slice(index);
    const groups = await this.#journal.readGroups(sequence);
    await this.#turns.next();
    return groups.map((group) => ({ firstSequence: group.firstSequence, events: eventsOf(group) }));
  }

  /** Searches the newest groups first: a reader that keeps up finds its place at once. */
  #recentIndex(sequence: number): number {
    return this.#recent.findLastIndex(({ firstSequence }) => firstSequence <= sequence);
  }

  #recentPage(sequence: number, format: EventFormat): EventPage | null {
    const kept = this.#pages.kept(sequence, format);
    if (kept !== null) return kept;
    const index = this.#recentIndex(sequence);
    if (index < 0) return null;
    const events: Event[] = [];
    for (const group of this.#recent.slice(index, index + RECENT_PAGE_EVENTS_MAX)) {
      const start = Math.max(0, sequence - group.firstSequence);
      events.push(...group.events.slice(start, start + RECENT_PAGE_EVENTS_MAX - events.length));
      if (events.length >= RECENT_PAGE_EVENTS_MAX) break;
    }
    return this.#pages.keep(framePage(sequence, events, format), format);
  }

  async #pageOf(sequence: number, format: EventFormat): Promise<EventPage> {
    const page = await this.#pages.load(sequence, format);
    if (holds(page, sequence)) return page;
    throw new OperationalError(
      "journalDamaged",
      `The journal has no event ${sequence}; its last event is ${this.#headSequence}.`,
    );
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
