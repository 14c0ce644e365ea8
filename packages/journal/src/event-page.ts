/**
 * Recorded events as bytes for readers of the event stream. The bytes of a page are made once, if possible by the
 * thread that reads the journal, and all readers of the same format share them.
 */
import { readEvents } from "@headroom/engine";
import type { Event } from "@headroom/model";
import type { RecordedGroup } from "./ports.ts";

/** Newline-delimited JSON, or server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export type EventFormat = "ndjson" | "sse";

export interface EventPage {
  readonly firstSequence: number;
  /** The concatenated frames of the events. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Offset in `bytes` of the end of each event's frame, in order. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

/** A group's events as stored in the journal. */
export function eventsOf({ text }: RecordedGroup): readonly Event[] {
  // The hash chain covers exactly the text that this program wrote, so the text is not validated again.
  return readEvents(text);
}

export function framePage(firstSequence: number, events: readonly Event[], format: EventFormat): EventPage {
  const ends = new Uint32Array(events.length);
  let text = "";
  let end = 0;
  events.forEach((event, index) => {
    const framed = eventFrame(firstSequence + index, event, format);
    end += Buffer.byteLength(framed);
    ends[index] = end;
    text += framed;
  });
  return { firstSequence, bytes: new TextEncoder().encode(text), ends };
}

/** Converts consecutive groups to the bytes of a page. */
export function frameGroups(groups: readonly RecordedGroup[], format: EventFormat): EventPage {
  return framePage(groups[0]?.firstSequence ?? 1, groups.flatMap(eventsOf), format);
}

/**
 * Converts one event to bytes. In the API an event has its recorded form (`eventEnvelope` in `@headroom/views` proves
 * this by types).
 */
function eventFrame(sequence: number, event: Event, format: EventFormat): string {
  const json = JSON.stringify({ sequence, event });
  return format === "ndjson" ? `${json}\n` : `id: ${sequence}\ndata: ${json}\n\n`;
}
