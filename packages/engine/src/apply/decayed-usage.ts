/** Usage history, updated by events that change usage. No other code writes `state.decayedUsage`. */
import type { TeamName, Workload } from "@headroom/model";
import { freshUse, rebased, useAsOf } from "../usage/decayed-usage.ts";
import type { WritableWorld } from "./writable.ts";

/**
 * Brings the usage entries of the workload's team, the teams above it and its user up to now, before its usage changes.
 */
export function recordDecayedUsage(world: WritableWorld, workload: Workload): void {
  if (world.decayedUsage.halfLife === null) return;
  forgetOldest(world);
  for (const key of world.decayedUsage.keysOf(workload)) record(world, key);
}

/** Brings all entries up to now, before teams change. */
export function recordAllDecayedUsage(world: WritableWorld): void {
  if (world.decayedUsage.halfLife === null) return;
  for (const key of Array.from(world.state.decayedUsage.keys())) record(world, key);
}

/** After teams changed: usage counts for the present team tree from now on. */
export function recountDecayedUsage(world: WritableWorld): void {
  const { decayedUsage, rules } = world;
  if (decayedUsage.halfLife === null) return;
  decayedUsage.rebuild(rules);
  for (const key of decayedUsage.rates().keys()) record(world, key);
}

/** After the policy changed: without a half-life the history is dropped; with another one the averages stay. */
export function renewDecayedUsage(world: WritableWorld): void {
  const { state, decayedUsage, rules } = world;
  const before = decayedUsage.halfLife;
  if (before !== null) recordAllDecayedUsage(world);
  decayedUsage.rebuild(rules);
  if (decayedUsage.halfLife === null) return state.decayedUsage.clear();
  if (before !== null && before.stepMs !== decayedUsage.halfLife.stepMs)
    for (const [key, use] of Array.from(state.decayedUsage))
      state.decayedUsage.set(key, rebased(use, decayedUsage.halfLife));
  for (const key of decayedUsage.rates().keys()) record(world, key);
}

export function forgetDecayedUsage({ state }: WritableWorld, team: TeamName): void {
  for (const key of Array.from(state.decayedUsage.keys()))
    if (key === team || key.startsWith(`${team}\n`)) state.decayedUsage.delete(key);
}

/** An updated entry moves to the end: the first is the least recently updated. */
function record({ state, decayedUsage }: WritableWorld, key: string): void {
  const { halfLife } = decayedUsage;
  if (halfLife === null) return;
  const { nowMs } = state;
  const use = state.decayedUsage.get(key);
  state.decayedUsage.delete(key);
  state.decayedUsage.set(
    key,
    use === undefined ? freshUse(nowMs) : useAsOf(use, halfLife, { rate: decayedUsage.rate(key), nowMs }),
  );
}

/**
 * Each update also updates the oldest entry and drops it if it has decayed to zero, so entries of departed users
 * disappear.
 */
function forgetOldest(world: WritableWorld): void {
  const { state, decayedUsage } = world;
  const [key] = state.decayedUsage.keys();
  if (key === undefined) return;
  record(world, key);
  const use = state.decayedUsage.get(key);
  const isNothing = (amount: number): boolean => amount === 0;
  if (use?.average.every(isNothing) && use.pending.every(isNothing) && decayedUsage.rate(key).every(isNothing))
    state.decayedUsage.delete(key);
}
