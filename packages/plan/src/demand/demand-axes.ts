/** Demand beside accelerators: storage on three axes, ports of the fabric, power. Figures are expected values by month. */

/** Storage that work needs: capacity, throughput, concurrency. Rates in GB/s. */
export interface StorageNeed {
  readonly capacityTb: number;
  readonly readGbPerS: number;
  readonly writeGbPerS: number;
  /** Clients at the same time. */
  readonly clients: number;
}

export const noStorage: StorageNeed = { capacityTb: 0, readGbPerS: 0, writeGbPerS: 0, clients: 0 };

export interface DemandAxes {
  /** Power of the accelerators with their servers, before cooling. */
  readonly powerKw: readonly number[];
  /** Ports of the compute network: one for each accelerator that trains. */
  readonly fabricPorts: readonly number[];
  readonly storageTb: readonly number[];
  readonly readGbPerS: readonly number[];
  readonly writeGbPerS: readonly number[];
  readonly storageClients: readonly number[];
}

export interface EntryAxes {
  readonly accelerators: readonly number[];
  readonly probabilityPct: number;
  readonly storage: StorageNeed;
  /** Factor of the storage by month: growth, and 0 outside the months of the entry. */
  readonly growth: readonly number[];
  readonly isTraining: boolean;
}

export function axesOf(entries: readonly EntryAxes[], months: number, kwPerAccelerator: number): DemandAxes {
  const expected = (of: (entry: EntryAxes, month: number) => number): number[] =>
    Array.from({ length: months }, (_, month) => {
      const sum = entries.reduce((total, entry) => total + (entry.probabilityPct / 100) * of(entry, month), 0);
      return Math.round(1000 * sum) / 1000;
    });
  const stored = (of: (need: StorageNeed) => number): number[] =>
    expected(({ storage, growth }, month) => of(storage) * growth[month]!);
  return {
    powerKw: expected(({ accelerators }, month) => accelerators[month]! * kwPerAccelerator),
    fabricPorts: expected(({ accelerators, isTraining }, month) => (isTraining ? accelerators[month]! : 0)),
    storageTb: stored((need) => need.capacityTb),
    readGbPerS: stored((need) => need.readGbPerS),
    writeGbPerS: stored((need) => need.writeGbPerS),
    storageClients: stored((need) => need.clients),
  };
}
