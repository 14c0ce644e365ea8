import { setTimeout as sleep } from "node:timers/promises";

/** Resolves after the time, or when the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});
