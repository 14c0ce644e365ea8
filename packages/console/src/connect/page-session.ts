/**
 * The session of a browser that signed in without TLS. A cookie would be sent to every port of the host, and so to the
 * web pages of jobs. Storage belongs to one origin, port included.
 */
import { SESSION_FRAGMENT } from "@headroom/protocol";

const KEY = "headroom.session";

type PageAddress = Pick<Location, "hash" | "pathname" | "search">;

/** Takes the session out of the address to which a login link leads, and keeps it for this origin. */
export function takePageSession(location: PageAddress, history: Pick<History, "replaceState">, storage: Storage): void {
  const session = new URLSearchParams(location.hash.slice(1)).get(SESSION_FRAGMENT);
  if (session === null) return;
  storage.setItem(KEY, session);
  history.replaceState(null, "", location.pathname + location.search);
}

/** The session to send as a bearer token; `undefined`: none, as with TLS, where the browser sends a cookie. */
export function pageSession(storage: Pick<Storage, "getItem">): string | undefined {
  return storage.getItem(KEY) ?? undefined;
}
