/** The control plane's time for display: one timer for the whole page, however many durations are on it. */
import { useSyncExternalStore } from "react";
import { useSession } from "./session.ts";

const TICK_MS = 1_000;
/** Simulated time flies: twice as many ticks keep it from jumping. */
const FAST_TICK_MS = 500;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(isFast: boolean, listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => listeners.forEach((tell) => tell()), isFast ? FAST_TICK_MS : TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** Now, rounded down to the second; renders again when it changes. */
export function useNow(): number {
  const { clock, demo } = useSession();
  return useSyncExternalStore(
    (listener) => subscribe(demo !== null, listener),
    () => Math.floor(clock.nowMs() / TICK_MS) * TICK_MS,
  );
}
