/** The record of past use as events change what is held. The only writers of `state.pastUse`. */
import type { TeamName } from "../model/ids.ts";
import type { Workload } from "../model/workload.ts";
import { freshUse, rebased, useAsOf } from "../usage/past-use.ts";
import type { World } from "../cluster/world.ts";

/** Brings the record up to now for everybody for whom the work counts: what it holds is about to change. */
export function recordPastUse(world: World, workload: Workload): void {
  if (world.past.halfLife === null) return;
  forgetOldest(world);
  for (const key of world.past.keysOf(workload)) record(world, key);
}

/** Brings everything up to now: teams are about to change. */
export function recordAllPastUse(world: World): void {
  if (world.past.halfLife === null) return;
  for (const key of Array.from(world.state.pastUse.keys())) record(world, key);
}

/** After teams changed: what is held counts for others, from now on. */
export function recountPastUse(world: World): void {
  const { past, rules } = world;
  if (past.halfLife === null) return;
  past.rebuild(rules);
  for (const key of past.rates().keys()) record(world, key);
}

/** After the policy changed: without a half-life nothing is remembered; with another one the averages stay. */
export function renewPastUse(world: World): void {
  const { state, past, rules } = world;
  const before = past.halfLife;
  if (before !== null) recordAllPastUse(world);
  past.rebuild(rules);
  if (past.halfLife === null) return state.pastUse.clear();
  if (before !== null && before.stepMs !== past.halfLife.stepMs)
    for (const [key, use] of Array.from(state.pastUse)) state.pastUse.set(key, rebased(use, past.halfLife));
  for (const key of past.rates().keys()) record(world, key);
}

/** The team is gone, and with it all that was remembered of it. */
export function forgetPastUse({ state }: World, team: TeamName): void {
  for (const key of Array.from(state.pastUse.keys()))
    if (key === team || key.startsWith(`${team}\n`)) state.pastUse.delete(key);
}

/** Whoever is recorded goes to the end: the first is the one that was not looked at for longest. */
function record({ state, past }: World, key: string): void {
  const { halfLife } = past;
  if (halfLife === null) return;
  const { nowMs } = state;
  const use = state.pastUse.get(key);
  state.pastUse.delete(key);
  state.pastUse.set(key, use === undefined ? freshUse(nowMs) : useAsOf(use, halfLife, { rate: past.rate(key), nowMs }));
}

/** With every change one of the others is looked at, and dropped where nothing is left: so users who are gone are forgotten. */
function forgetOldest(world: World): void {
  const { state, past } = world;
  const [key] = state.pastUse.keys();
  if (key === undefined) return;
  record(world, key);
  const use = state.pastUse.get(key);
  const isNothing = (amount: number): boolean => amount === 0;
  if (use?.average.every(isNothing) && use.pending.every(isNothing) && past.rate(key).every(isNothing))
    state.pastUse.delete(key);
}
