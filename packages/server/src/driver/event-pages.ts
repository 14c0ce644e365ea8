/**
 * Journal pages shared by the readers of the event stream. A page is read once, cached for a while and given to every
 * reader that needs it.
 */
import type { EventFormat, EventPage } from "@headroom/journal";

/** Maximum number of cached pages. Readers that catch up at the same time are within a few pages of each other. */
const PAGES_KEPT_MAX = 64;
/** Maximum bytes of cached pages. A page has about 300 KiB; single events of up to 1 MiB make larger ones. */
const BYTES_KEPT_MAX = 32 * 1024 * 1024;

/**
 * Maximum number of pages read at the same time. All pages that have arrived are received in one turn of the event loop,
 * each in about a third of a millisecond; hundreds of readers at different places would block it for 100 ms.
 */
const READS_MAX = 4;

interface Kept {
  readonly format: EventFormat;
  readonly page: EventPage;
}

export class EventPages {
  readonly #load: (sequence: number, format: EventFormat) => Promise<EventPage>;
  readonly #loading = new Map<string, Promise<EventPage>>();
  /** Cached pages, the oldest first. */
  readonly #kept: Kept[] = [];
  #bytesKept = 0;
  /** Reads that wait for a place, the longest first. */
  readonly #queue: (() => void)[] = [];
  #readCount = 0;

  /** `load` reads the page that contains the event with this sequence. */
  constructor(load: (sequence: number, format: EventFormat) => Promise<EventPage>) {
    this.#load = load;
  }

  /** The cached page that contains the event; `null`: it is not cached. */
  kept(sequence: number, format: EventFormat): EventPage | null {
    const found = this.#kept.findLast((kept) => kept.format === format && holds(kept.page, sequence));
    return found?.page ?? null;
  }

  keep(page: EventPage, format: EventFormat): EventPage {
    this.#kept.push({ page, format });
    this.#bytesKept += page.bytes.byteLength;
    while (this.#kept.length > PAGES_KEPT_MAX || (this.#bytesKept > BYTES_KEPT_MAX && this.#kept.length > 1)) {
      this.#bytesKept -= this.#kept.shift()?.page.bytes.byteLength ?? 0;
    }
    return page;
  }

  /** The page that contains the event. If several readers need the same page at the same time, it is read once. */
  async load(sequence: number, format: EventFormat): Promise<EventPage> {
    const key = `${format} ${sequence}`;
    const loading = this.#loading.get(key);
    if (loading !== undefined) return loading;
    const promise = this.#inTurn(sequence, format);
    this.#loading.set(key, promise);
    try {
      return await promise;
    } finally {
      this.#loading.delete(key);
    }
  }

  /** Reads the page when a place is free. A page that another reader has loaded meanwhile is not read again. */
  async #inTurn(sequence: number, format: EventFormat): Promise<EventPage> {
    if (this.#readCount >= READS_MAX) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#readCount++;
    try {
      return this.kept(sequence, format) ?? this.keep(await this.#load(sequence, format), format);
    } finally {
      // The place passes to the next in the queue.
      const next = this.#queue.shift();
      if (next === undefined) this.#readCount--;
      else next();
    }
  }
}

export function holds({ firstSequence, ends }: EventPage, sequence: number): boolean {
  return sequence >= firstSequence && sequence < firstSequence + ends.length;
}

export interface PagePiece {
  readonly bytes: Uint8Array;
  readonly nextSequence: number;
}

/**
 * Events of a page from `sequence` on, in pieces of whole events. A piece has at most `bytesMax` bytes, or is one
 * larger event.
 */
export function* piecesFrom(page: EventPage, sequence: number, bytesMax: number): Generator<PagePiece> {
  const { firstSequence, bytes, ends } = page;
  let index = sequence - firstSequence;
  let start = ends[index - 1] ?? 0;
  while (index < ends.length) {
    let end = ends[index++] as number;
    while (index < ends.length && (ends[index] as number) - start <= bytesMax) end = ends[index++] as number;
    yield { bytes: bytes.subarray(start, end), nextSequence: firstSequence + index };
    start = end;
  }
}
