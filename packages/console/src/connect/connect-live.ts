/** Talking to the control plane that served this page. */
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient, HttpRequest, Status } from "@headroom/protocol";
import { Clock } from "./clock.ts";

export function liveClient(): HeadroomClient {
  return createHttpClient({
    baseUrl: "",
    fetch: (url: string, request: HttpRequest) => fetch(url, { credentials: "same-origin", ...request } as RequestInit),
    newIdempotencyKey,
  });
}

/** `crypto.randomUUID` exists only where the page came over HTTPS or from this machine. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A control plane's clock is ahead of the newest batch it decided, and else this machine's is the best there is. */
export function liveClock(status: Status): Clock {
  return new Clock({ nowMs: Math.max(Date.now(), status.nowMs), rate: 1 }, () => performance.now());
}
