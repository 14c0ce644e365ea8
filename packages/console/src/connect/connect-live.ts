/** Connects to the control plane that served this page. */
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient, HttpRequest, Status } from "@headroom/protocol";
import { Clock } from "./clock.ts";
import { pageSession } from "./page-session.ts";

export function liveClient(): HeadroomClient {
  return createHttpClient({
    baseUrl: "",
    token: pageSession(localStorage),
    fetch: (url: string, request: HttpRequest) => fetch(url, { credentials: "same-origin", ...request } as RequestInit),
    newIdempotencyKey,
  });
}

/** `crypto.randomUUID` exists only in a secure context (HTTPS or localhost). */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The time of the newest batch is a lower bound of the control plane's clock. If this machine's clock is later, it is
 * used.
 */
export function liveClock(status: Status): Clock {
  return new Clock({ nowMs: Math.max(Date.now(), status.nowMs), rate: 1 }, () => performance.now());
}
