/**
 * Use that is no accelerator time: bytes in stores, bytes that left their site, and tokens of gateways. One line for each day (UTC), team, subject and place.
 * A line is computed again from the journal and the usage files; it is never stored.
 */
export type MeteredService = "storage" | "egress" | "tokens";

/** The part of a line with one unit price. The parts of a line add up to its cost. */
export interface MeteredPart {
  readonly meter: "Input Tokens" | "Cached Input Tokens" | "Output Tokens" | "Stored Data" | "Egress Data";
  /** Tokens, gibibyte-hours, or gibibytes. */
  readonly quantity: number;
  /** USD for a million tokens, for a gibibyte-month, or for a gibibyte; 0: no price covers it. */
  readonly unitPrice: number;
  readonly microUsd: number;
}

export interface MeteredLine {
  readonly dayMs: number;
  readonly service: MeteredService;
  readonly team: string;
  /** Artifact (`model:research/chat@3`), workload that read the bytes, or model of the gateway. */
  readonly subject: string;
  /** Store, or pool of the gateway. */
  readonly place: string;
  /** Gibibyte-hours, gibibytes, or tokens. */
  readonly quantity: number;
  /** Requests of a gateway; 0 for storage. */
  readonly requestCount: number;
  /** Name of the price document; `""`: none covers it, and `microUsd` is 0. */
  readonly price: string;
  readonly provider: string;
  readonly microUsd: number;
  /** Amount that the gateway charged by its own prices. It passes on costs of accelerators, so it is no further cost. */
  readonly chargedMicroUsd: number;
  readonly parts: readonly MeteredPart[];
}

/** The line as reports list it. */
export const listedLine = ({ parts: _parts, ...line }: MeteredLine): Omit<MeteredLine, "parts"> => line;

/** By day, then the most expensive first. */
export const sortedLines = (lines: readonly MeteredLine[]): readonly MeteredLine[] =>
  lines.toSorted((left, right) => left.dayMs - right.dayMs || inDay(left, right));

/** At most `max` lines: those of the newest days, and of the oldest of these days the most expensive. In no order. */
export function newestLines(lines: readonly MeteredLine[], max: number): readonly MeteredLine[] {
  if (lines.length <= max) return lines;
  const counts = new Map<number, number>();
  for (const { dayMs } of lines) counts.set(dayMs, (counts.get(dayMs) ?? 0) + 1);
  let [oldestMs, kept] = [Number.POSITIVE_INFINITY, 0];
  for (const [dayMs, count] of [...counts].toSorted(([left], [right]) => right - left)) {
    if (kept >= max) break;
    [oldestMs, kept] = [dayMs, kept + count];
  }
  return lines
    .filter(({ dayMs }) => dayMs >= oldestMs)
    .toSorted((left, right) => right.dayMs - left.dayMs || inDay(left, right))
    .slice(0, max);
}

const inDay = (left: MeteredLine, right: MeteredLine): number =>
  right.microUsd - left.microUsd ||
  compared(left.service, right.service) ||
  compared(left.team, right.team) ||
  compared(left.subject, right.subject) ||
  compared(left.place, right.place);

const compared = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
