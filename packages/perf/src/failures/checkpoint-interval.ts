/**
 * The failure parameters of a job, all in seconds: mean time to failure, cost of a failure, and cost of a checkpoint.
 */
export interface FailureCost {
  readonly mttfSeconds: number;
  /** Time from the failure to the first new step. It includes detection, restart, loading and warm-up. */
  readonly restartSeconds: number;
  /** Time for which a checkpoint stops the job. */
  readonly stallSeconds: number;
}

/** The best interval to first order, √(2·T_s·T_f) (Young 1974). T_s: stall for a checkpoint; T_f: time to failure. */
export function youngInterval(cost: FailureCost): number {
  return Math.sqrt(2 * cost.stallSeconds * cost.mttfSeconds);
}

/**
 * The best interval by equation 37 of Daly 2006: Young's interval with higher-order terms, for stalls that are not
 * small compared with the time to failure.
 */
export function dalyInterval(cost: FailureCost): number {
  const { stallSeconds, mttfSeconds } = cost;
  if (stallSeconds >= 2 * mttfSeconds) return mttfSeconds;
  const ratio = stallSeconds / (2 * mttfSeconds);
  return Math.sqrt(2 * stallSeconds * mttfSeconds) * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - stallSeconds;
}

/**
 * The interval with the highest availability if restarts are counted too (arXiv 2410.18124): T_s + √(2(T_f + T_r)T_s +
 * T_s²). T_r: time to restart.
 */
export function availabilityInterval(cost: FailureCost): number {
  const { stallSeconds, mttfSeconds, restartSeconds } = cost;
  return stallSeconds + Math.sqrt(2 * (mttfSeconds + restartSeconds) * stallSeconds + stallSeconds ** 2);
}

/**
 * Expected share of time in which the job makes progress, in Meta's form (arXiv 2410.21680 §4): (1 − N·r·(u₀ + Δt/2)) ÷
 * (1 + w/Δt). The time to failure is 1 ÷ (N·r). The form is linear in the failure rate, so the share is 0 if failures
 * come faster than restarts.
 */
export function ettrLinear(cost: FailureCost, intervalSeconds: number): number {
  const { mttfSeconds, restartSeconds, stallSeconds } = cost;
  const lost = (restartSeconds + intervalSeconds / 2) / mttfSeconds;
  return Math.max(0, 1 - lost) / (1 + stallSeconds / intervalSeconds);
}

/**
 * Expected share of time in which the job makes progress, without the linear approximation. Failures form a Poisson
 * process and can also happen during restarts (Daly 2006, equation 20): τ ÷ (M·e^(R/M)·(e^((τ+δ)/M) − 1)).
 */
export function ettrExact(cost: FailureCost, intervalSeconds: number): number {
  const { mttfSeconds, restartSeconds, stallSeconds } = cost;
  const segment = Math.expm1((intervalSeconds + stallSeconds) / mttfSeconds);
  return intervalSeconds / (mttfSeconds * Math.exp(restartSeconds / mttfSeconds) * segment);
}

export interface Goodput {
  readonly intervalSeconds: number;
  readonly ettr: number;
  /** Shares of the time that is not progress, by cause. The shares and `ettr` add up to 1. */
  readonly lost: { readonly checkpoints: number; readonly restarts: number; readonly repeatedWork: number };
}

/** Share of progress at a checkpoint interval, and the losses by cause, by the exact form. */
export function goodputAt(cost: FailureCost, intervalSeconds: number): Goodput {
  const ettr = ettrExact(cost, intervalSeconds);
  // Time without progress is a stall, a restart or repeated work. Stalls and restarts follow from the formula; the rest
  // is repeated work.
  const checkpoints = (ettr * cost.stallSeconds) / intervalSeconds;
  const rest = Math.max(0, 1 - ettr - checkpoints);
  const repeated = intervalSeconds / 2 + cost.stallSeconds / 2;
  const restarts = (rest * cost.restartSeconds) / (cost.restartSeconds + repeated);
  return { intervalSeconds, ettr, lost: { checkpoints, restarts, repeatedWork: rest - restarts } };
}

/** The best interval by the exact form. It is found by a golden-section search around Daly's interval. */
export function bestInterval(cost: FailureCost): number {
  if (cost.stallSeconds <= 0) return 0;
  const golden = (Math.sqrt(5) - 1) / 2;
  let low = cost.stallSeconds / 1000;
  let high = Math.max(2 * cost.mttfSeconds, 10 * cost.stallSeconds);
  for (let round = 0; round < 100; round += 1) {
    const left = high - golden * (high - low);
    const right = low + golden * (high - low);
    if (ettrExact(cost, left) < ettrExact(cost, right)) low = left;
    else high = right;
  }
  return (low + high) / 2;
}
