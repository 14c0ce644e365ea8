/** Events of stores as sentences: declarations, and bytes that moved. */
import { mibOf } from "@headroom/model";
import type { Event } from "@headroom/protocol";
import { durationText, memoryText } from "./plain-text.ts";

type StoreEvent = Extract<Event, { readonly kind: "storesChanged" | "bytesTransferred" }>;

export function storeEventSentence(event: StoreEvent): string {
  if (event.kind === "bytesTransferred") return `Attempt ${event.attemptId} ${movementText(event)}.`;
  const { changed, removed } = event;
  const declared = changed.length === 0 ? [] : [`declared: ${changed.map(({ name }) => name).join(", ")}`];
  const gone = removed.length === 0 ? [] : [`removed: ${removed.join(", ")}`];
  return `Stores ${[...declared, ...gone].join("; ")}.`;
}

/** A movement as the end of a sentence. */
export function movementText({
  direction,
  store,
  uri,
  bytes,
  tookMs,
  failed,
  egressMicroUsd,
}: Event & { readonly kind: "bytesTransferred" }): string {
  const size = memoryText(mibOf(bytes));
  const way = direction === "in" ? `read ${size} of ${uri} from` : `wrote ${size} to ${uri} in`;
  const cost = egressMicroUsd === undefined ? "" : `, for ${(egressMicroUsd / 1_000_000).toFixed(2)} USD of egress`;
  return `${way} store ${store} in ${durationText(tookMs)}${cost}${failed === true ? ", and the transfer failed" : ""}`;
}
