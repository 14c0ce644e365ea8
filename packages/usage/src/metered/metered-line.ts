/**
 * Use that is no accelerator time: bytes in stores, and tokens of gateways. One line for each day (UTC), team, subject and place.
 * A line is computed again from the journal and the usage files; it is never stored.
 */
export type MeteredService = "storage" | "tokens";

export interface MeteredLine {
  readonly dayMs: number;
  readonly service: MeteredService;
  readonly team: string;
  /** Artifact (`model:research/chat@3`), or model of the gateway. */
  readonly subject: string;
  /** Store, or pool of the gateway. */
  readonly place: string;
  /** Gibibyte-hours, or tokens. */
  readonly quantity: number;
  /** Requests of a gateway; 0 for storage. */
  readonly requestCount: number;
  /** Name of the price document; `""`: none covers it, and `microUsd` is 0. */
  readonly price: string;
  readonly provider: string;
  readonly microUsd: number;
  /** Amount that the gateway charged by its own prices. It passes on costs of accelerators, so it is no further cost. */
  readonly chargedMicroUsd: number;
}

/** By day, then the most expensive first. */
export const sortedLines = (lines: readonly MeteredLine[]): readonly MeteredLine[] =>
  lines.toSorted(
    (left, right) =>
      left.dayMs - right.dayMs ||
      right.microUsd - left.microUsd ||
      (keyOf(left) < keyOf(right) ? -1 : keyOf(left) > keyOf(right) ? 1 : 0),
  );

const keyOf = ({ service, team, subject, place }: MeteredLine): string =>
  JSON.stringify([service, team, subject, place]);
