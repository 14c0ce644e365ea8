/**
 * State of an executor as recorded facts. An executor without such a record is the one of a machine that has always
 * answered, or a simulated one.
 */
import type { ExecutorId } from "./fleet.ts";

/** `run`: the executor runs work. `follow`: its nodes are shown, and nothing is placed on them. */
export type ExecutorMode = "run" | "follow";

/**
 * `configured`: declared, and has not answered yet. `unreachable`: it does not answer, or not completely. `removed`: it
 * is no longer declared. Only a reachable executor gets new work; attempts of the others stay as recorded.
 */
export type ExecutorPhase = "configured" | "reachable" | "unreachable" | "removed";

export interface ExecutorState {
  readonly executor: ExecutorId;
  readonly mode: ExecutorMode;
  readonly phase: ExecutorPhase;
  readonly sinceMs: number;
  /** Why the executor is unreachable; empty in other phases. */
  readonly reason: string;
  /** True if an operator declares the executor. False: it is that of a machine. */
  readonly isDeclared: boolean;
}

/** Reason why an executor gets no new work; `null`: it gets work. */
export const whySuspended = ({ mode, phase }: ExecutorState): Exclude<ExecutorPhase, "reachable"> | "followed" | null =>
  phase !== "reachable" ? phase : mode === "follow" ? "followed" : null;
