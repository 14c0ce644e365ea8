/**
 * Connects the page to its control plane: the one that served the page, or with `?demo` a simulated one in a worker.
 */
import { refuse, type HeadroomClient, type Status } from "@headroom/protocol";
import { EventFeed, type FeedHooks } from "../live/event-feed.ts";
import type { Clock } from "./clock.ts";
import type { DemoControls } from "./demo-controls.ts";
import { pageSession } from "./page-session.ts";
import type { Session } from "./session.ts";

/** The connection, for use by every page of the console. */
export const demoAddress = `${import.meta.env.BASE_URL}?demo`;

export const isDemoAddress = (location: Location): boolean => new URLSearchParams(location.search).has("demo");

interface Connection {
  readonly client: HeadroomClient;
  readonly clock: Clock;
  readonly demo: DemoControls | null;
  readonly status: Status;
}

async function connectToDemo(): Promise<Connection> {
  const { connectDemo } = await import("./demo-controls.ts");
  const { client, clock, controls } = await connectDemo();
  return { client, clock, demo: controls, status: await client.status() };
}

/**
 * Loads the client with its schemas only if a control plane answers. If none answers, as for the demo on a file server,
 * the first visit needs only this request.
 */
async function connectToServer(): Promise<Connection> {
  const session = pageSession(localStorage);
  // With the session, so that a browser that is signed in does not report a refused request.
  const headers: Record<string, string> = session === undefined ? {} : { authorization: `Bearer ${session}` };
  const answer = await fetch("/v1/status", { method: "HEAD", credentials: "same-origin", headers }).catch(() => null);
  const type = answer?.headers.get("content-type") ?? "";
  if (answer !== null && !type.includes("json"))
    throw refuse("unexpectedAnswer", "The answer is not JSON. Is another server at this address?");
  const { liveClient, liveClock } = await import("./connect-live.ts");
  const client = liveClient();
  const status = await client.status();
  return { client, clock: liveClock(status), demo: null, status };
}

/** The event stream starts right after the status, so that it contains every change since then. */
export async function connect(isDemo: boolean, hooks: FeedHooks): Promise<Session> {
  const { client, clock, demo, status } = await (isDemo ? connectToDemo() : connectToServer());
  const feed = new EventFeed(client, status.sequence, hooks);
  feed.subscribeState(() => clock.setStopped(feed.state.phase === "interrupted"));
  return { client, clock, demo, feed };
}
