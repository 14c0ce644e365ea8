/** Objects that every page uses: one client, one clock, one event stream, for a real or simulated fleet. */
import type { HeadroomClient } from "@headroom/protocol";
import { createContext, useContext } from "react";
import type { EventFeed } from "../live/event-feed.ts";
import type { Clock } from "./clock.ts";
import type { DemoControls } from "./demo-controls.ts";

export interface Session {
  readonly client: HeadroomClient;
  readonly clock: Clock;
  readonly feed: EventFeed;
  /** Controls of the demo; `null`: this is a live control plane. */
  readonly demo: DemoControls | null;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("no session above this component");
  return session;
}

export const useClient = (): HeadroomClient => useSession().client;
