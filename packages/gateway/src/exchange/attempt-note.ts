/** Facts about one attempt, for the explanation of its request. They outlive the attempt and hold nothing of its body. */
import type { Chosen } from "@headroom/routing";

export interface AttemptNote {
  /** `retry`: after an attempt that failed. `hedge`: beside one that was silent. `continuation`: of a broken stream. */
  readonly kind: "first" | "retry" | "hedge" | "continuation";
  readonly pool: string;
  readonly replica: string;
  readonly decision: Chosen;
  readonly startedAtMs: number;
  /** Status of the response, 0 before it. */
  status: number;
  /** Time of the response's head, and of the end of the attempt; 0 before it. */
  headAtMs: number;
  endedAtMs: number;
  outcome: "open" | "completed" | "cancelled" | "failed";
  /** Why the attempt failed, such as `connect: connection refused`. */
  failure: string;
}

/** The kind of the next attempt of a request. `hasBegun`: the client has a part of the response. */
export function attemptKind(before: readonly AttemptNote[], hasBegun: boolean): AttemptNote["kind"] {
  if (before.length === 0) return "first";
  if (hasBegun) return "continuation";
  return before.some(({ outcome }) => outcome === "open") ? "hedge" : "retry";
}
