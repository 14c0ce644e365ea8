/** A query that is fetched again only when an event may have changed its answer. */
import type { Event } from "@headroom/protocol";
import { useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useSession } from "../connect/session.ts";
import { Throttle, type ThrottleTimers } from "./throttle.ts";

const browserTimers: ThrottleTimers = {
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

export interface LiveOptions {
  readonly queryKey: QueryKey;
  /** Whether an event can change the answer. Each render can pass another function. */
  readonly matters: (event: Event) => boolean;
  /** Minimum interval in ms between two fetches. */
  readonly everyMs?: number;
  /** Interval in ms of fetches without an event. Progress reports cause no events. */
  readonly pollMs?: number;
}

/** Interval in ms: programs report at most every two seconds. */
export const REPORTS_POLL_MS = 2_000;

const EVERY_DEFAULT_MS = 1_000;

/**
 * Invalidates all queries under `queryKey` when a matching event comes, while the calling component is mounted and the
 * page is visible.
 */
export function useLiveQuery({ queryKey, matters, everyMs = EVERY_DEFAULT_MS, pollMs = 0 }: LiveOptions): void {
  const { feed } = useSession();
  const queryClient = useQueryClient();
  const mattersNow = useRef(matters);
  useEffect(() => {
    mattersNow.current = matters;
  });
  const keyText = JSON.stringify(queryKey);
  useEffect(() => {
    const key = JSON.parse(keyText) as QueryKey;
    const throttle = new Throttle(everyMs, () => queryClient.invalidateQueries({ queryKey: key }), browserTimers);
    let isDirty = false;
    const touch = (): void => {
      isDirty = document.hidden;
      if (!isDirty) throttle.touch();
    };
    const becomeVisible = (): void => {
      if (isDirty) touch();
    };
    const leave = feed.subscribe((batch) => {
      if (batch.some(({ event }) => mattersNow.current(event))) touch();
    });
    document.addEventListener("visibilitychange", becomeVisible);
    const poll = pollMs > 0 ? setInterval(touch, pollMs) : undefined;
    return () => {
      clearInterval(poll);
      leave();
      throttle.close();
      document.removeEventListener("visibilitychange", becomeVisible);
    };
  }, [feed, queryClient, keyText, everyMs, pollMs]);
}
