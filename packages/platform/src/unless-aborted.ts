/** Work that may not end at its signal, since a call of the system does not return. */

/**
 * Settles as the work does. Rejects with the reason of the signal if the work has not ended `graceMs` after it; the work goes on, and
 * what it leads to is dropped.
 */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal, graceMs = 0): Promise<Result> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const leave = (): void => {
    timer = setTimeout(() => reject(signal.reason as Error), graceMs);
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([work, overdue]);
  } finally {
    signal.removeEventListener("abort", leave);
    clearTimeout(timer);
  }
}
