/** The initial state of a forecast: a state at some time, and the time that has passed since. */
import { restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { forecastInstantMs } from "../estimate/forecast-instant.ts";

export interface Present {
  readonly engine: Engine;
  /** The newest event in the state. */
  readonly sequence: number;
  readonly nowMs: number;
}

/** The same at the instant from which a forecast of that state is computed: equal for equal states, whoever asks. */
export function forecastPresentOf(snapshot: Uint8Array, atMs: number): Present {
  const engine = restoreEngine(snapshot);
  return presentAt(engine, forecastInstantMs(engine.state.nowMs, atMs));
}

export function presentOf(snapshot: Uint8Array, atMs: number): Present {
  return presentAt(restoreEngine(snapshot), atMs);
}

function presentAt(engine: Engine, atMs: number): Present {
  const { sequence } = engine.state;
  const nowMs = Math.max(atMs, engine.state.nowMs);
  engine.receive([{ kind: "tick" }], nowMs);
  engine.advance();
  return { engine, sequence, nowMs };
}
