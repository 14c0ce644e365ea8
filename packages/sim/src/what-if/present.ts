/** The initial state of a forecast: a state at some time, and the time that has passed since. */
import { restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";

export interface Present {
  readonly engine: Engine;
  /** The newest event in the state. */
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
