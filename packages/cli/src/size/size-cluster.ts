/** `headroom size cluster FILE`: a whole cluster for the demand of a demand document. */
import type { ClusterDesign, ClusterPrices } from "@headroom/perf";
import type { SizedDemand } from "@headroom/plan";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines } from "../output/table.ts";
import { money, numberTable } from "../plan/plan-text.ts";
import { kwPerAccelerator, sizedDemand } from "../plan/run-demand.ts";
import { given, positive, significant } from "./quantities.ts";

export interface ClusterOptions {
  readonly month?: string;
  readonly oversubscription?: string;
  readonly acceleratorUsd?: string;
  readonly flashUsd?: string;
  readonly diskUsd?: string;
  readonly kwhUsd?: string;
  readonly json?: true;
}

export async function runSizeCluster(
  context: CommandContext,
  file: string,
  options: ClusterOptions,
): Promise<ExitCode> {
  const { designCluster, findAccelerator, usualClusterSettings } = await import("@headroom/perf");
  const demand = await sizedDemand(context, file);
  const accelerator = findAccelerator(demand.accelerator);
  if (accelerator === undefined)
    throw new CliError(`${file}: the catalogue has no accelerator ${demand.accelerator}`, exitCode.usage);
  const month = monthOf(demand, options.month);
  const oversubscription = given(options.oversubscription, (text) => positive(text, "--oversubscription"), 1);
  const answer = designCluster({
    accelerator,
    acceleratorCount: demand.p95[month]!,
    medianCount: demand.p50[month]!,
    kwPerAccelerator: kwPerAccelerator(accelerator),
    ...storageAt(demand, month),
    prices: pricesOf(options),
    settings: { ...usualClusterSettings, oversubscription },
  });
  if (options.json === true)
    context.print(JSON.stringify({ ...answer, month: demand.months[month], demand: demandAt(demand, month) }, null, 2));
  if (answer.kind === "impossible") {
    if (options.json !== true) context.note(answer.reason);
    return exitCode.unsatisfied;
  }
  if (options.json !== true) context.print(...designLines(context, answer, { demand, month }));
  return exitCode.ok;
}

function monthOf({ months }: SizedDemand, named: string | undefined): number {
  if (named === undefined) return months.length - 1;
  const month = months.indexOf(named);
  if (month < 0) throw new CliError(`--month: expected ${months[0]} to ${months.at(-1)}, got ${named}`, exitCode.usage);
  return month;
}

/** Datasets are kept beside the work; their readers count as load of the work. */
function storageAt(
  { axes, entries }: SizedDemand,
  month: number,
): { active: { capacityTb: number; readGbPerS: number; writeGbPerS: number; clients: number }; keptTb: number } {
  const kept = entries
    .filter(({ kind }) => kind === "dataset")
    .reduce((sum, { storageTb }) => sum + storageTb[month]!, 0);
  return {
    active: {
      capacityTb: Math.max(0, axes.storageTb[month]! - kept),
      readGbPerS: axes.readGbPerS[month]!,
      writeGbPerS: axes.writeGbPerS[month]!,
      clients: axes.storageClients[month]!,
    },
    keptTb: kept,
  };
}

function demandAt({ p50, p95 }: SizedDemand, month: number): { p50: number; p95: number } {
  return { p50: p50[month]!, p95: p95[month]! };
}

/** Prices of storage are those of enterprise flash and disks with their servers. */
function pricesOf({ acceleratorUsd, flashUsd, diskUsd, kwhUsd }: ClusterOptions): ClusterPrices | undefined {
  if (acceleratorUsd === undefined) return undefined;
  return {
    acceleratorUsd: positive(acceleratorUsd, "--accelerator-usd"),
    flashUsdPerTb: given(flashUsd, (text) => positive(text, "--flash-usd"), 250),
    diskUsdPerTb: given(diskUsd, (text) => positive(text, "--disk-usd"), 40),
    usdPerKwh: given(kwhUsd, (text) => positive(text, "--kwh-usd"), 0.1),
  };
}

function designLines(
  context: CommandContext,
  design: ClusterDesign,
  { demand, month }: { readonly demand: SizedDemand; readonly month: number },
): readonly string[] {
  const { nodes, fabric, power, cost, storage, failuresPerDay } = design;
  const { p50, p95 } = demandAt(demand, month);
  const levels = fabric.levels.map(({ name, switchCount }) => `${switchCount} ${name}`).join(", ");
  const pairs: [string, string][] = [
    ["demand", `${significant(p95)} accelerators at P95 in ${demand.months[month]}, ${significant(p50)} at the median`],
    ["nodes", `${nodes.total} of ${nodes.name}: ${nodes.work} for work, ${nodes.spare} spare`],
    ["fabric", fabric.switches === 0 ? "none: one node" : `${levels} switches, ${fabric.cables} cables`],
    [
      "power",
      `${significant(power.itKw)} kW of hardware, ${significant(power.facilityKw)} kW with cooling, ${power.racks} racks`,
    ],
    ["failures", `${significant(failuresPerDay)} nodes a day`],
  ];
  if (cost !== undefined)
    pairs.push(
      [
        "price",
        `${money(cost.totalUsd)}: servers ${money(cost.acceleratorsUsd)}, network ${money(cost.networkUsd)}, storage ${money(cost.storageUsd)}`,
      ],
      ["power bill", `${money(cost.powerUsdPerMonth)} a month`],
    );
  const rows = storage.map(({ tier, capacityTb, readGbPerS, writeGbPerS, clients }) => [
    tier,
    `${significant(capacityTb)} TB`,
    significant(readGbPerS),
    significant(writeGbPerS),
    String(clients),
  ]);
  const list = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
  return [
    ...pairLines(pairs, context.paint),
    ...numberTable(context, ["storage to buy", "capacity", "read GB/s", "write GB/s", "clients"], rows),
    ...list("Risks:", design.risks),
    ...list("Assumptions:", design.assumptions),
  ];
}
