/**
 * Arithmetic of usage history: an exponentially decayed average with a half-life. Within a step (`half-life.ts`) the
 * average is constant and usage is summed; at the end of the step the average moves towards the step's mean. So the
 * average changes at known instants only, and its value does not depend on when it is read or written.
 */
import { NO_USE, divideProduct } from "@headroom/model";
import type { DecayedUsage, UseVector } from "@headroom/model";
import { FACTOR_ONE, factorAfter } from "./half-life.ts";
import type { HalfLife } from "./half-life.ts";

/**
 * One unit of a resource in averages, which are stored in 2^-16 of the unit. So an average reaches zero, and a single
 * accelerator counts from the first step on.
 */
export const AVERAGE_ONE = 65_536;

export const freshUse = (atMs: number): DecayedUsage => ({ atMs, average: NO_USE, pending: NO_USE });

export interface HeldAmounts {
  /** Amounts in use since the record was made. */
  readonly rate: UseVector;
  readonly nowMs: number;
}

/** The record brought up to a later instant. */
export function useAsOf(use: DecayedUsage, halfLife: HalfLife, { rate, nowMs }: HeldAmounts): DecayedUsage {
  const { stepMs } = halfLife;
  const step = Math.floor(use.atMs / stepMs);
  const steps = Math.floor(nowMs / stepMs) - step;
  if (steps === 0)
    return {
      ...use,
      atMs: nowMs,
      pending: map(use.pending, (sum, at) => sum + (rate[at] as number) * (nowMs - use.atMs)),
    };
  const leftMs = (step + 1) * stepMs - use.atMs;
  const [first, others] = [factorAfter(halfLife, 1), factorAfter(halfLife, steps - 1)];
  return {
    atMs: nowMs,
    average: map(use.average, (average, at) => {
      const held = rate[at] as number;
      const mean = divideProduct((use.pending[at] as number) + held * leftMs, AVERAGE_ONE, stepMs).quotient;
      return towards(held * AVERAGE_ONE, towards(mean, average, first), others);
    }),
    pending: map(rate, (held) => held * (nowMs - (step + steps) * stepMs)),
  };
}

/** Whether the average stays constant while the team holds the same amount. */
export function isSteady(use: DecayedUsage, halfLife: HalfLife, held: HeldAmounts): boolean {
  const { average, pending } = useAsOf(use, halfLife, held);
  const intoStepMs = held.nowMs % halfLife.stepMs;
  return held.rate.every((rate, at) => average[at] === rate * AVERAGE_ONE && pending[at] === rate * intoStepMs);
}

/** The record under another half-life. The average stays, as if usage had been constant since the step began. */
export function rebased({ average, atMs }: DecayedUsage, { stepMs }: HalfLife): DecayedUsage {
  return { atMs, average, pending: map(average, (each) => divideProduct(each, atMs % stepMs, AVERAGE_ONE).quotient) };
}

/**
 * Moves an average towards its target. The remaining difference is rounded towards zero, so the average reaches the
 * target.
 */
function towards(target: number, from: number, factor: number): number {
  const left = divideProduct(Math.abs(target - from), factor, FACTOR_ONE).quotient;
  return target < from ? target + left : target - left;
}

const map = (vector: UseVector, change: (amount: number, at: number) => number): UseVector => [
  change(vector[0], 0),
  change(vector[1], 1),
  change(vector[2], 2),
];
