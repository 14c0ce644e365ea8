/** The price of an hour of useful work on an offer: what interruptions, checkpoints, restarts and slowness leave of an hour. */

export interface OfferConditions {
  /** US dollars of an accelerator-hour. */
  readonly perHour: number;
  /** Interruptions per hour; 0: none. */
  readonly hazardPerHour: number;
  /** Hours that one checkpoint and one restart take. */
  readonly checkpointHours: number;
  readonly restartHours: number;
  /** Useful work of this supplier's hour relative to the reference, as measured. */
  readonly speed: number;
  /** US dollars to move the data, and the useful hours over which it is spread. */
  readonly egressUsd: number;
  readonly workHours: number;
  readonly accelerators: number;
}

export interface UsefulHour {
  /** Hours between checkpoints (Young 1974: √(2·cost·MTBF)); `null`: none are needed. */
  readonly checkpointEveryHours: number | null;
  /** Part of the time that is useful work. */
  readonly usefulPart: number;
  readonly usdPerUsefulHour: number;
}

export function usefulHour(conditions: OfferConditions): UsefulHour {
  const { perHour, hazardPerHour, checkpointHours, restartHours, speed, egressUsd, workHours, accelerators } =
    conditions;
  const every = hazardPerHour > 0 && checkpointHours > 0 ? Math.sqrt((2 * checkpointHours) / hazardPerHour) : null;
  const writing = every === null ? 1 : every / (every + checkpointHours);
  // On average half an interval is lost with each interruption, and the restart.
  const lost = hazardPerHour * ((every ?? 0) / 2 + restartHours);
  const usefulPart = Math.max(0, writing * (1 - lost));
  const egress = egressUsd / (workHours * accelerators);
  return {
    checkpointEveryHours: every,
    usefulPart,
    usdPerUsefulHour: usefulPart * speed > 0 ? perHour / (usefulPart * speed) + egress : Number.POSITIVE_INFINITY,
  };
}
