/** Worlds of the demo after hours of simulated time. */
import { DemoWorld } from "../demo-world.ts";

export const startAtMs: number = Date.UTC(2026, 0, 5);

export const hoursMs = (hours: number): number => hours * 3_600_000;

export function worldAfter(hours: number, seed = 10): DemoWorld {
  const world = new DemoWorld({ seed, startAtMs });
  while (world.nowMs < startAtMs + hoursMs(hours)) world.advance(startAtMs + hoursMs(hours), () => false);
  return world;
}
