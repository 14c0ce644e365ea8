import type { AxisDemand } from "./demand.ts";

/** Capacity and rates of a storage tier, as bought. An axis for which the tier has no figure is not judged. */
export interface StorageTier {
  readonly name: string;
  readonly capacityBytes?: number | undefined;
  readonly readGbPerS?: number | undefined;
  readonly writeGbPerS?: number | undefined;
  readonly operationsPerS?: number | undefined;
  readonly clientCount?: number | undefined;
  readonly source: string;
}

export type StorageAxis = "capacity" | "read" | "write" | "operations" | "clients";

export interface AxisLoad {
  readonly axis: StorageAxis;
  readonly needed: number;
  /** Amount that the tier offers on this axis. `undefined` if it is not stated. */
  readonly offered: number | undefined;
  /** Demand divided by `offered`. If it exceeds 1, the tier is too small on this axis. */
  readonly load: number | undefined;
  /** The largest part of the demand on this axis. */
  readonly cause: string;
}

export interface StorageVerdict {
  readonly axes: readonly AxisLoad[];
  /** The axis with the highest load. `undefined` if the tier states no axis. */
  readonly breaksFirst: AxisLoad | undefined;
  readonly isEnough: boolean;
  /** The tier can carry the demand multiplied by this number; above it, the first axis is exhausted. */
  readonly headroom: number | undefined;
}

/**
 * Share of the bought rate that distributed storage delivers, about 80% (ml-engineering, storage/README.md: buy 1.25
 * times the needed rate).
 */
export const deliveredShare = 0.8;

/** Storage demand of several jobs at the same time, by kind of work. */
export interface StorageDemand {
  readonly capacityBytes: number;
  readonly readGbPerS: number;
  readonly writeGbPerS: number;
  readonly operationsPerS: number;
  readonly clientCount: number;
  readonly parts: readonly AxisDemand[];
}

/**
 * Combines the demands of a mix of jobs. Capacity and clients add up. For rates, only the heaviest burst counts in
 * full, and all other demands count with their average, because jobs do not save or start at the same time.
 */
export function combineDemands(parts: readonly AxisDemand[]): StorageDemand {
  const sum = (pick: (part: AxisDemand) => number): number => parts.reduce((total, part) => total + pick(part), 0);
  return {
    capacityBytes: sum((part) => part.capacityBytes),
    readGbPerS: peakRate(parts, (part) => part.readGbPerS),
    writeGbPerS: peakRate(parts, (part) => part.writeGbPerS),
    operationsPerS: peakRate(parts, (part) => part.operationsPerS),
    clientCount: sum((part) => part.clientCount),
    parts,
  };
}

function peakRate(parts: readonly AxisDemand[], pick: (part: AxisDemand) => number): number {
  let mean = 0;
  let burst = 0;
  for (const part of parts) {
    mean += pick(part) * part.dutyShare;
    burst = Math.max(burst, pick(part) * (1 - part.dutyShare));
  }
  return mean + burst;
}

/** Compares a demand with a tier on each axis: capacity, bandwidth, operations, clients. */
export function judgeStorage(demand: StorageDemand, tier: StorageTier): StorageVerdict {
  const share = (bought: number | undefined): number | undefined =>
    bought === undefined ? undefined : bought * deliveredShare;
  const cause = (pick: (part: AxisDemand) => number): string => heaviest(demand.parts, pick);
  const axes = [
    load(
      "capacity",
      demand.capacityBytes,
      tier.capacityBytes,
      cause((part) => part.capacityBytes),
    ),
    load(
      "read",
      demand.readGbPerS,
      share(tier.readGbPerS),
      cause((part) => part.readGbPerS),
    ),
    load(
      "write",
      demand.writeGbPerS,
      share(tier.writeGbPerS),
      cause((part) => part.writeGbPerS),
    ),
    load(
      "operations",
      demand.operationsPerS,
      share(tier.operationsPerS),
      cause((part) => part.operationsPerS),
    ),
    load(
      "clients",
      demand.clientCount,
      tier.clientCount,
      cause((part) => part.clientCount),
    ),
  ];
  let breaksFirst: AxisLoad | undefined;
  for (const axis of axes) {
    if (axis.load !== undefined && axis.load > (breaksFirst?.load ?? 0)) breaksFirst = axis;
  }
  const highest = breaksFirst?.load;
  return {
    axes,
    breaksFirst,
    isEnough: highest === undefined || highest <= 1,
    headroom: highest === undefined ? undefined : 1 / highest,
  };
}

function load(axis: StorageAxis, needed: number, offered: number | undefined, cause: string): AxisLoad {
  if (offered === undefined) return { axis, needed, offered, load: undefined, cause };
  return { axis, needed, offered, load: needed === 0 ? 0 : needed / offered, cause };
}

function heaviest(parts: readonly AxisDemand[], pick: (part: AxisDemand) => number): string {
  let best: AxisDemand | undefined;
  for (const part of parts) {
    if (pick(part) > (best === undefined ? 0 : pick(best))) best = part;
  }
  return best?.name ?? "nothing";
}
