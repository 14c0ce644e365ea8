import { OperationalError } from "@headroom/platform";

/** The result of a call to an executor, or a rejection after this time. A later result of the call is dropped. */
export async function within<T>(limitMs: number, call: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const seconds = limitMs / 1_000;
  const timer = setTimeout(
    () => reject(new OperationalError("noAnswer", `no answer within ${seconds} s`, { retryable: true })),
    limitMs,
  );
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
