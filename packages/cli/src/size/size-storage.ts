/** `headroom size storage`: capacity, throughput and concurrency that jobs need, compared with storage tiers. */
import type { Checkpointing, DatasetReads, StartStorm, StorageReport, StorageTier } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { rate, settings, wholeNumber } from "../simulate/amount-options.ts";
import {
  byteQuantity,
  bytesText,
  given,
  percentText,
  positive,
  positiveDuration,
  quantity,
  significant,
} from "./quantities.ts";

export interface StorageOptions {
  readonly gpus?: string;
  readonly gpusPerNode?: string;
  readonly sample?: string;
  readonly batch?: string;
  readonly compute?: string;
  readonly utilisation?: string;
  readonly samplesPerFile?: string;
  readonly threads?: string;
  readonly dataset?: string;
  readonly parameters?: string;
  readonly checkpoint?: string;
  readonly every?: string;
  readonly stall?: string;
  readonly overlapped?: true;
  readonly kept?: string;
  readonly image?: string;
  readonly files?: string;
  readonly start?: string;
  readonly tier?: readonly string[];
  readonly offer?: readonly string[];
  readonly json?: true;
}

const countMax = 1_000_000_000;
const count = (text: string, what: string): number => wholeNumber(text, what, { min: 1, max: countMax });

export async function runSizeStorage(context: CommandContext, options: StorageOptions): Promise<ExitCode> {
  const perf = await import("@headroom/perf");
  const gpus = given(options.gpus, (text) => count(text, "--gpus"), 1);
  const checkpoints = await checkpointsOf(options, gpus);
  const request = {
    datasets: datasetsOf(options, gpus),
    checkpoints,
    starts: startsOf(options, gpus, checkpoints[0]?.bytes ?? 0),
  };
  if (request.datasets.length + request.checkpoints.length + request.starts.length === 0) {
    throw new CliError("nothing to store: pass --sample, --parameters or --checkpoint, or --image", exitCode.usage);
  }
  const report = perf.sizeStorage(request, await storageTiers(options));
  if (options.json === true) context.print(JSON.stringify(report, null, 2));
  else context.print(...storageLines(report, context));
  return report.verdicts.every(({ verdict }) => verdict.isEnough) ? exitCode.ok : exitCode.unsatisfied;
}

function datasetsOf(options: StorageOptions, acceleratorCount: number): DatasetReads[] {
  if (options.sample === undefined) return [];
  if (options.compute === undefined) {
    throw new CliError("--sample needs --compute: seconds of computing per batch", exitCode.usage);
  }
  return [
    {
      acceleratorCount,
      sampleBytes: byteQuantity(options.sample, "--sample"),
      samplesPerFile: given(options.samplesPerFile, (text) => quantity(text, "--samples-per-file"), 1),
      batchSamples: given(options.batch, (text) => quantity(text, "--batch"), 1),
      computeSeconds: positive(options.compute, "--compute"),
      utilisation: given(options.utilisation, (text) => rate(text, "--utilisation") / 10_000, 1),
      readerThreads: given(options.threads, (text) => count(text, "--threads"), 4),
      datasetBytes: given(options.dataset, (text) => byteQuantity(text, "--dataset"), 0),
    },
  ];
}

async function checkpointsOf(options: StorageOptions, writerCount: number): Promise<Checkpointing[]> {
  const perf = await import("@headroom/perf");
  const { parameters, checkpoint } = options;
  if (parameters === undefined && checkpoint === undefined) return [];
  const content = { weightBytes: 2, optimizerBytes: 12 };
  const bytes =
    checkpoint === undefined
      ? perf.checkpointBytes({ ...content, parameterCount: quantity(parameters ?? "", "--parameters") })
      : byteQuantity(checkpoint, "--checkpoint");
  const stallSeconds = given(options.stall, (text) => positiveDuration(text, "--stall") / 1000, 30);
  return [
    {
      bytes,
      intervalSeconds: given(options.every, (text) => positiveDuration(text, "--every") / 1000, 1800),
      keptCount: given(options.kept, (text) => count(text, "--kept"), 2),
      writerCount,
      filesPerWriter: 1,
      mode: options.overlapped === true ? { kind: "overlapped" } : { kind: "blocking", stallSeconds },
    },
  ];
}

/** Data read when a job starts. Default: a container image of 20 GB per node, 5,000 small files per process. */
function startsOf(options: StorageOptions, gpus: number, stateBytes: number): StartStorm[] {
  if (options.image === undefined && options.files === undefined && options.start === undefined) return [];
  const processesPerNode = given(options.gpusPerNode, (text) => count(text, "--gpus-per-node"), 8);
  return [
    {
      nodeCount: Math.ceil(gpus / processesPerNode),
      processesPerNode: Math.min(processesPerNode, gpus),
      imageBytesPerNode: given(options.image, (text) => byteQuantity(text, "--image"), 20e9),
      filesPerProcess: given(options.files, (text) => quantity(text, "--files"), 5000),
      stateBytes,
      budgetSeconds: given(options.start, (text) => positiveDuration(text, "--start") / 1000, 300),
      startsPerDay: 4,
    },
  ];
}

/** Storage tiers that are compared with a demand: published tiers by name, and offers by their figures. */
export async function storageTiers(options: Pick<StorageOptions, "tier" | "offer">): Promise<StorageTier[]> {
  const perf = await import("@headroom/perf");
  const named = (options.tier ?? []).map((name) => {
    const tier = perf.findTier(name);
    if (tier !== undefined) return tier;
    const known = perf.publishedTiers.map((each) => each.name).join(", ");
    throw new CliError(`--tier: expected ${known}; or state --offer`, exitCode.usage);
  });
  const offered = (options.offer ?? []).map((text) => {
    const found = settings(text, "--offer", ["name", "capacity", "read", "write", "operations", "clients"]);
    const number = (key: string): number | undefined =>
      given(found.get(key), (value) => quantity(value, `--offer: ${key}`), undefined);
    const capacity = given(found.get("capacity"), (value) => byteQuantity(value, "--offer: capacity"), undefined);
    const all = {
      capacityBytes: capacity,
      readGbPerS: number("read"),
      writeGbPerS: number("write"),
      operationsPerS: number("operations"),
      clientCount: number("clients"),
    };
    const stated = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return { name: found.get("name") ?? "offer", source: "as stated", ...stated };
  });
  return [...named, ...offered];
}

function storageLines({ demand, verdicts }: StorageReport, { terminal, paint }: CommandContext): string[] {
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const needs = [
    ["capacity", bytesText(demand.capacityBytes)],
    ["read", `${significant(demand.readGbPerS)} GB/s`],
    ["write", `${significant(demand.writeGbPerS)} GB/s`],
    ["operations", `${significant(demand.operationsPerS)}/s`],
    ["clients", significant(demand.clientCount)],
  ] as const;
  const columns = [{ title: "AXIS" }, right("NEEDED"), ...verdicts.map(({ tier }) => right(tier.name.toUpperCase()))];
  const rows = needs.map(([axis, needed]) => [
    axis,
    needed,
    ...verdicts.map(({ verdict }) => {
      const load = verdict.axes.find((each) => each.axis === axis)?.load;
      if (load === undefined) return { text: "not stated", tone: "dim" as const };
      return { text: `${percentText(load)} used`, tone: load > 1 ? ("red" as const) : undefined };
    }),
  ]);
  const endings = verdicts.map(({ tier, verdict }) => {
    const { breaksFirst } = verdict;
    if (breaksFirst === undefined) return `${tier.name}: has no figure to compare with`;
    const { axis, cause } = breaksFirst;
    const times = significant(verdict.headroom ?? 0);
    return `${tier.name}: ${verdict.isEnough ? "enough" : "starves"}; ${axis} is the bottleneck (${cause}), at ${times} times this demand`;
  });
  return [...tableLines(columns, rows, terminal.stdout, paint), ...endings];
}
