/** The transfer that an attempt waits for, in one line. */
import type { AttemptStaging } from "@headroom/protocol";
import { grouped } from "./plain-text.ts";

const MB = 1_000_000;

export function stagingText({ uri, store, bytes, totalBytes }: AttemptStaging): string {
  if (totalBytes === null) return `staging ${uri} from ${store}: the store has not answered yet`;
  const percent = totalBytes === 0 ? 100 : Math.floor((100 * bytes) / totalBytes);
  return `staging ${uri} from ${store}: ${megabytes(bytes)} of ${megabytes(totalBytes)} MB (${percent}%)`;
}

const megabytes = (bytes: number): string => grouped(Math.ceil(bytes / MB));
