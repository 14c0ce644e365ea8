/** The control plane's time for display: one timer for the whole page, however many durations it shows. */
import { useCallback, useSyncExternalStore } from "react";
import type { Clock } from "./clock.ts";
import { useSession } from "./session.ts";

const SECOND_MS = 1_000;
const TICK_MS = 1_000;
/**
 * Interval in ms at which simulated time is shown: half the usual interval, because simulated time runs fast and would
 * jump.
 */
const FAST_TICK_MS = 500;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/**
 * The displayed time. Until the next tick it is the same for every component, because components would otherwise show
 * different times.
 */
const shownMs = new WeakMap<Clock, number>();

const inSeconds = (clock: Clock): number => Math.floor(clock.nowMs() / SECOND_MS) * SECOND_MS;

function tick(clock: Clock): void {
  shownMs.set(clock, inSeconds(clock));
  for (const tell of listeners) tell();
}

function subscribe(clock: Clock, tickMs: number, listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => tick(clock), tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
    shownMs.delete(clock);
  };
}

function shown(clock: Clock): number {
  const known = shownMs.get(clock);
  if (known !== undefined) return known;
  const nowMs = inSeconds(clock);
  shownMs.set(clock, nowMs);
  return nowMs;
}

/** The present time, rounded down to the second. The component renders again when it changes. */
export function useNow(): number {
  const { clock, demo } = useSession();
  const tickMs = demo === null ? TICK_MS : FAST_TICK_MS;
  return useSyncExternalStore(
    useCallback((listener) => subscribe(clock, tickMs, listener), [clock, tickMs]),
    () => shown(clock),
  );
}
