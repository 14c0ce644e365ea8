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
  /** Seconds of a step by component, as far as the run reports them. */
  readonly reported: Partial<StepParts>;
  /** Share of time in which none of the run's accelerators was busy; `undefined`: it reports no utilization. */
  readonly idleShare: number | undefined;
}

/**
 * Source of a component's time: the run reports it (`reported`), its accelerators were idle for that long (`idle`), or
 * it is the rest of the step and the only component without a measurement (`rest`).
 */
export type PartGround = "reported" | "idle" | "rest";

/** Cause of a slow run. Without a responsible component, `missing` lists the components that the run must report. */
export interface SlowCause {
  readonly responsible: StepPart | undefined;
  readonly ground: PartGround | undefined;
  readonly missing: readonly StepPart[];
}

/** A run that is slower than other runs of its kind. */
export interface SlowRun extends SlowCause {
  readonly expectedSeconds: number;
  /** Share by which the run exceeds the corrected prediction. */
  readonly excessShare: number;
}

/** Share above the corrected prediction from which a run is reported as slow. */
export const slowShare = 0.15;

/** A component explains a slow step if its own excess is at least this share of the step's. */
const explainingShare = 0.5;

const partNames: readonly StepPart[] = ["compute", "network", "storage"];

/** Whether a run is slow for its kind, with the cause if observations are given; `undefined`: the run is not slow. */
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

/** A component's seconds of a step, and how they are known. */
interface KnownPart {
  readonly seconds: number;
  readonly ground: PartGround;
}

/**
 * Components of a measured step, s, as far as they are known. A run on one accelerator has no network. Idle accelerators wait for
 * input, which is storage's: collectives count as use in every vendor's counters. If one component alone is unknown, it is the rest.
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

/** The known component with the largest excess, if that explains half of the step's. */
function causeOf(seconds: number, expected: StepParts, observed: ObservedParts): SlowCause {
  const known = knownParts(seconds, expected, observed);
  const needed = explainingShare * (seconds - expected.compute - expected.network - expected.storage);
  const excesses = [...known]
    .map(([part, { seconds: own, ground }]) => ({ part, ground, excess: own - expected[part] }))
    .toSorted((left, right) => right.excess - left.excess);
  const [largest] = excesses;
  const missing = partNames.filter((part) => !known.has(part));
  // With every component known, several may share the excess: the largest is named if together they explain it.
  const together = excesses.reduce((sum, { excess }) => sum + Math.max(0, excess), 0);
  const explained = missing.length === 0 ? together : (largest?.excess ?? 0);
  if (largest === undefined || !(explained >= needed)) return { responsible: undefined, ground: undefined, missing };
  return { responsible: largest.part, ground: largest.ground, missing };
}
