import { correctionFactor, type CorrectionRun, type FleetCorrection } from "./fleet-correction.ts";

/** Seconds of a step by component. */
export interface StepParts {
  readonly compute: number;
  readonly network: number;
  readonly storage: number;
}

export type StepPart = keyof StepParts;

/** Observations of the components of a run's step. */
export interface ObservedParts {
  /** Seconds of a step by component, for the components that the run reports. */
  readonly reported: Partial<StepParts>;
  /** Share of time in which none of the run's accelerators was busy. `undefined` if the run reports no utilization. */
  readonly idleShare: number | undefined;
}

/**
 * How the time of a component is known. `reported`: the run reports it. `idle`: it is the time in which the
 * accelerators were idle. `rest`: only this component has no measurement, so its time is the rest of the step.
 */
export type PartGround = "reported" | "idle" | "rest";

/**
 * Cause of a slow run. If no component can be named, `missing` lists the components for which the run reports no time.
 */
export interface SlowCause {
  readonly responsible: StepPart | undefined;
  readonly ground: PartGround | undefined;
  readonly missing: readonly StepPart[];
}

/** A run that is slower than other runs of its kind. */
export interface SlowRun extends SlowCause {
  readonly expectedSeconds: number;
  /** Share by which the measured step is longer than the corrected prediction. */
  readonly excessShare: number;
}

/** A run is reported as slow if its step is longer than the corrected prediction by more than this share. */
export const slowShare = 0.15;

/** A component explains a slow step if its own excess is at least this share of the step's excess. */
const explainingShare = 0.5;

const partNames: readonly StepPart[] = ["compute", "network", "storage"];

/**
 * The report of a run that is slow for its type and family, or `undefined` if the run is not slow. The report names the
 * cause only if `shown` is given.
 */
export function slowRunOf(
  run: CorrectionRun,
  correction: FleetCorrection,
  shown?: { readonly predicted: StepParts; readonly observed: ObservedParts },
): SlowRun | undefined {
  const { factor } = correctionFactor(correction, run.acceleratorType, run.family);
  const expectedSeconds = run.predictedSeconds * factor;
  const excessShare = run.measuredSeconds / expectedSeconds - 1;
  if (!(excessShare > slowShare)) return undefined;
  const cause =
    shown === undefined
      ? { responsible: undefined, ground: undefined, missing: partNames }
      : causeOf(run.measuredSeconds, scaledParts(shown.predicted, factor), shown.observed);
  return { expectedSeconds, excessShare, ...cause };
}

export function scaledParts({ compute, network, storage }: StepParts, factor: number): StepParts {
  return { compute: compute * factor, network: network * factor, storage: storage * factor };
}

/** The seconds of a step that a component takes, and how they are known. */
interface KnownPart {
  readonly seconds: number;
  readonly ground: PartGround;
}

/**
 * Seconds of the components of a measured step, for the components that are known. A run on one accelerator has no
 * network time. Idle time of accelerators counts as storage time, because idle accelerators wait for input: the
 * counters of every vendor report collectives as use. If only one component is unknown, its time is the rest of the
 * step.
 */
export function knownParts(
  seconds: number,
  expected: StepParts,
  { reported, idleShare }: ObservedParts,
): ReadonlyMap<StepPart, KnownPart> {
  const known = new Map<StepPart, KnownPart>();
  for (const part of partNames) {
    const value = reported[part];
    if (value !== undefined) known.set(part, { seconds: value, ground: "reported" });
  }
  if (expected.network === 0 && !known.has("network")) known.set("network", { seconds: 0, ground: "rest" });
  if (idleShare !== undefined && !known.has("storage")) {
    known.set("storage", { seconds: Math.min(1, Math.max(0, idleShare)) * seconds, ground: "idle" });
  }
  const [open, ...others] = partNames.filter((part) => !known.has(part));
  if (open !== undefined && others.length === 0) {
    const sum = [...known.values()].reduce((total, part) => total + part.seconds, 0);
    known.set(open, { seconds: Math.max(0, seconds - sum), ground: "rest" });
  }
  return known;
}

/** The known component with the largest excess, if this component explains half of the excess of the step. */
function causeOf(seconds: number, expected: StepParts, observed: ObservedParts): SlowCause {
  const known = knownParts(seconds, expected, observed);
  const needed = explainingShare * (seconds - expected.compute - expected.network - expected.storage);
  const excesses = [...known]
    .map(([part, { seconds: own, ground }]) => ({ part, ground, excess: own - expected[part] }))
    .toSorted((left, right) => right.excess - left.excess);
  const [largest] = excesses;
  const missing = partNames.filter((part) => !known.has(part));
  // If every component is known, several components can share the excess. The component with the largest excess is
  // named if all excesses together explain half of the excess of the step.
  const together = excesses.reduce((sum, { excess }) => sum + Math.max(0, excess), 0);
  const explained = missing.length === 0 ? together : (largest?.excess ?? 0);
  if (largest === undefined || !(explained >= needed)) return { responsible: undefined, ground: undefined, missing };
  return { responsible: largest.part, ground: largest.ground, missing };
}
