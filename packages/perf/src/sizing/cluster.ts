/** Design of a whole cluster from its demand: nodes, spares, fabric, storage tiers, power, racks, price, risks, with every assumption named. */
import type { Accelerator } from "../catalogue/accelerator.ts";
import { usualNode } from "../catalogue/nodes.ts";
import { jobMttfSeconds } from "../failures/rates.ts";
import { spareNodes } from "../failures/spares.ts";
import { fabricCounts, fabricRequest } from "../network/fabric-counts.ts";
import type { FabricLevel } from "../network/fabric-request.ts";
import { deliveredShare } from "../storage/axes.ts";

export interface ClusterDemand {
  readonly accelerator: Accelerator;
  /** Accelerators that must run at the same time: the demand at the accepted risk. */
  readonly acceleratorCount: number;
  /** The same at the median. */
  readonly medianCount: number;
  readonly kwPerAccelerator: number;
  /** Storage with the rates of work that runs, and capacity that is kept beside it. */
  readonly active: ClusterStorageNeed;
  readonly keptTb: number;
  readonly prices?: ClusterPrices | undefined;
  readonly settings: ClusterSettings;
}

export interface ClusterStorageNeed {
  readonly capacityTb: number;
  readonly readGbPerS: number;
  readonly writeGbPerS: number;
  readonly clients: number;
}

export interface ClusterPrices {
  readonly acceleratorUsd: number;
  readonly flashUsdPerTb: number;
  readonly diskUsdPerTb: number;
  readonly usdPerKwh: number;
}

export interface ClusterSettings {
  /** Share of accelerators that can be allocated at once: the rest is lost to fragments and to work that ends and starts. */
  readonly allocatableShare: number;
  readonly oversubscription: number;
  readonly perThousandNodeDays: number;
  readonly repairHours: number;
  readonly burstiness: number;
  readonly pue: number;
  readonly rackKw: number;
  /** Price of the network as a share of the price of the accelerators with their servers. */
  readonly networkShare: number;
}

/**
 * Sources: failures of RSC-1 (Meta, HPCA '25); bursts of InfiniteHBD's 400 servers; a rack of four DGX B200 has 57 kW, of four H100
 * 41 kW; the network has 15 to 25% of the price of a cluster.
 */
export const usualClusterSettings: ClusterSettings = {
  allocatableShare: 0.92,
  oversubscription: 1,
  perThousandNodeDays: 6.5,
  repairHours: 48,
  burstiness: 3.3,
  pue: 1.3,
  rackKw: 44,
  networkShare: 0.2,
};

export interface StorageTierDesign {
  readonly tier: "flash" | "capacity";
  readonly capacityTb: number;
  /** As bought: a quarter more than the work needs. */
  readonly readGbPerS: number;
  readonly writeGbPerS: number;
  readonly clients: number;
}

export interface ClusterDesign {
  readonly kind: "cluster";
  readonly nodes: {
    readonly name: string;
    readonly acceleratorsPerNode: number;
    readonly work: number;
    readonly spare: number;
    readonly total: number;
    readonly accelerators: number;
  };
  readonly fabric: { readonly levels: readonly FabricLevel[]; readonly switches: number; readonly cables: number };
  readonly storage: readonly StorageTierDesign[];
  readonly power: { readonly itKw: number; readonly facilityKw: number; readonly racks: number };
  readonly failuresPerDay: number;
  readonly cost: ClusterCost | undefined;
  readonly risks: readonly string[];
  readonly assumptions: readonly string[];
}

export interface ClusterCost {
  readonly acceleratorsUsd: number;
  readonly networkUsd: number;
  readonly storageUsd: number;
  readonly totalUsd: number;
  readonly powerUsdPerMonth: number;
}

/** Share of the time for which the spares suffice. */
const SPARE_COVERAGE = 0.99;
const HOURS_PER_MONTH = 730;
const SECONDS_PER_DAY = 86_400;

export function designCluster(
  demand: ClusterDemand,
): ClusterDesign | { readonly kind: "impossible"; readonly reason: string } {
  const { accelerator, acceleratorCount, kwPerAccelerator, settings } = demand;
  if (acceleratorCount <= 0) return { kind: "impossible", reason: "the demand needs no accelerators" };
  const { acceleratorCount: perNode, name } = usualNode(accelerator);
  const work = Math.ceil(acceleratorCount / settings.allocatableShare / perNode);
  const { perThousandNodeDays, repairHours, burstiness } = settings;
  const spare = spareNodes({
    nodeCount: work,
    perThousandNodeDays,
    repairHours,
    coverage: SPARE_COVERAGE,
    burstiness,
  }).spareCount;
  const total = work + spare;
  const fabric = fabricCounts(
    fabricRequest({
      nodeCount: Math.max(2, total),
      portsPerNode: perNode,
      leafOversubscription: settings.oversubscription,
    }),
  );
  if (fabric.kind === "impossible")
    return { kind: "impossible", reason: `${fabric.reason}; possible: ${fabric.nearest}` };
  const storage = tiersOf(demand);
  const itKw = total * perNode * kwPerAccelerator;
  const nodesPerRack = Math.max(1, Math.floor(settings.rackKw / (perNode * kwPerAccelerator)));
  const power = { itKw, facilityKw: itKw * settings.pue, racks: Math.ceil(total / nodesPerRack) };
  const failuresPerDay = SECONDS_PER_DAY / jobMttfSeconds(total, perThousandNodeDays, 0);
  return {
    kind: "cluster",
    nodes: { name, acceleratorsPerNode: perNode, work, spare, total, accelerators: total * perNode },
    fabric:
      total < 2
        ? { levels: [], switches: 0, cables: 0 }
        : { levels: fabric.levels, switches: fabric.switchCount, cables: fabric.cableCount },
    storage,
    power,
    failuresPerDay,
    cost: costOf(demand, { accelerators: total * perNode, storage, itKw }),
    risks: risksOf(demand, { total, growsTo: fabric.nodeCountMax, facilityKw: power.facilityKw, failuresPerDay }),
    assumptions: assumptionsOf(demand),
  };
}

/** Rates of work need flash; what is kept beside it lies on disks, with a tenth of its capacity read again within a day. */
function tiersOf({ active, keptTb }: ClusterDemand): readonly StorageTierDesign[] {
  const bought = (rate: number): number => rate / deliveredShare;
  const flash: StorageTierDesign = {
    tier: "flash",
    capacityTb: active.capacityTb / deliveredShare,
    readGbPerS: bought(active.readGbPerS),
    writeGbPerS: bought(active.writeGbPerS),
    clients: Math.ceil(active.clients),
  };
  if (keptTb <= 0) return [flash];
  const again = (keptTb * 1000 * 0.1) / SECONDS_PER_DAY;
  return [
    flash,
    {
      tier: "capacity",
      capacityTb: keptTb / deliveredShare,
      readGbPerS: bought(again),
      writeGbPerS: bought(again),
      clients: Math.ceil(active.clients),
    },
  ];
}

function costOf(
  { prices, settings }: ClusterDemand,
  { accelerators, storage, itKw }: { accelerators: number; storage: readonly StorageTierDesign[]; itKw: number },
): ClusterCost | undefined {
  if (prices === undefined) return undefined;
  const acceleratorsUsd = accelerators * prices.acceleratorUsd;
  const networkUsd = acceleratorsUsd * settings.networkShare;
  const storageUsd = storage.reduce(
    (sum, { tier, capacityTb }) => sum + capacityTb * (tier === "flash" ? prices.flashUsdPerTb : prices.diskUsdPerTb),
    0,
  );
  return {
    acceleratorsUsd,
    networkUsd,
    storageUsd,
    totalUsd: acceleratorsUsd + networkUsd + storageUsd,
    powerUsdPerMonth: itKw * settings.pue * prices.usdPerKwh * HOURS_PER_MONTH,
  };
}

/** From here on a site usually needs a new feed, whose transformers and switchgear take a year or more. */
const LARGE_SITE_KW = 1000;

function risksOf(
  { acceleratorCount, medianCount }: ClusterDemand,
  {
    total,
    growsTo,
    facilityKw,
    failuresPerDay,
  }: { total: number; growsTo: number; facilityKw: number; failuresPerDay: number },
): readonly string[] {
  const number = (value: number): string => String(Math.round(10 * value) / 10);
  return [
    ...(medianCount > 0 && acceleratorCount > 1.5 * medianCount
      ? [
          `demand is uncertain: ${number(acceleratorCount)} accelerators at the accepted risk, ${number(medianCount)} at the median; buy in phases`,
        ]
      : []),
    ...(facilityKw >= LARGE_SITE_KW
      ? [`${number(facilityKw)} kW may need a new feed: transformers and switchgear can take longer than accelerators`]
      : []),
    ...(growsTo < 2 * total ? [`the fabric ends at ${growsTo} nodes: a doubling needs another tier`] : []),
    ...(failuresPerDay >= 0.5
      ? [`${number(failuresPerDay)} node failures a day: runs over the whole cluster need frequent checkpoints`]
      : []),
  ];
}

function assumptionsOf({ settings, kwPerAccelerator }: ClusterDemand): readonly string[] {
  const percent = (share: number): string => `${Math.round(100 * share)}%`;
  return [
    `${percent(settings.allocatableShare)} of the accelerators can be allocated at once`,
    `${settings.perThousandNodeDays} node failures in 1,000 node-days, ${settings.repairHours} h of repair, bursts of ${settings.burstiness} times the mean; spares suffice 99% of the time`,
    `one port of 400 Gbit/s for each accelerator, switches of 64 ports, rail-optimised, oversubscription ${settings.oversubscription}:1`,
    `storage delivers ${percent(deliveredShare)} of what is bought; kept data is on disks, a tenth of it read a day`,
    `${Math.round(100 * kwPerAccelerator) / 100} kW for an accelerator with its server, PUE ${settings.pue}, racks of ${settings.rackKw} kW`,
    `the network costs ${percent(settings.networkShare)} of the servers`,
  ];
}
