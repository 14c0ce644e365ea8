/** What is asked about the time to come begins with a state as it was taken, and the time that has passed since. */
import { restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";

export interface Present {
  readonly engine: Engine;
  /** The newest event of the state as it was taken. */
  readonly sequence: number;
  readonly nowMs: number;
}

export function presentOf(snapshot: Uint8Array, atMs: number): Present {
  const engine = restoreEngine(snapshot);
  const { sequence } = engine.state;
  const nowMs = Math.max(atMs, engine.state.nowMs);
  engine.receive([{ kind: "tick" }], nowMs);
  engine.advance();
  return { engine, sequence, nowMs };
}
