/** Finds the event at an instant in a long journal, by reading the event stream that every client has. */
import type { HeadroomClient } from "./client.ts";

/**
 * Maximum number of events that are read, which takes about a second over HTTP. Only the newest part of a longer
 * history is shown.
 */
export const EVENTS_SEARCHED_MAX = 50_000;

type EventsClient = Pick<HeadroomClient, "events">;

/**
 * The first sequence whose event is not older than `atMs`. It is found by bisection, because times never decrease along
 * the journal.
 */
export async function sequenceAt(client: EventsClient, atMs: number, head: number): Promise<number> {
  let [low, high] = [1, head + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const at = await timeOf(client, middle);
    if (at !== null && at < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function timeOf(client: EventsClient, sequence: number): Promise<number | null> {
  for await (const { event } of client.events({ from: sequence })) return event.atMs;
  return null;
}

/** Sequence from which to read: that of the submission, or a later one if the submission is too long ago. */
export async function firstSequenceToRead(
  client: EventsClient,
  { submittedAtMs, head }: { readonly submittedAtMs: number; readonly head: number },
): Promise<{ readonly from: number; readonly isCut: boolean }> {
  const oldest = Math.max(1, head - EVENTS_SEARCHED_MAX + 1);
  const begun = await sequenceAt(client, submittedAtMs, head);
  return begun >= oldest ? { from: begun, isCut: false } : { from: oldest, isCut: true };
}
