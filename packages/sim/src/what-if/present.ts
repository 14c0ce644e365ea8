/** The initial state of a forecast: a recorded state, advanced to the time of the question. */
import { restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { forecastInstantMs } from "../estimate/forecast-instant.ts";

export interface Present {
  readonly engine: Engine;
  /** Sequence of the newest event in the state. */
  readonly sequence: number;
  readonly nowMs: number;
}

/**
 * The state at the instant from which a forecast is computed (`forecastInstantMs`). Equal states give equal forecasts
 * to every user.
 */
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
