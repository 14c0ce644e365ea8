/** The history of a Slurm cluster from two files: its nodes, and the jobs of its accounting. */
import type { HeadroomDocument } from "@headroom/protocol";
import type { JobRow, Zone } from "@headroom/executors/slurm-reading";
import type { TraceJob } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { KeptRows, readOutput } from "../executor/slurm-output.ts";
import { printable } from "../terminal.ts";

export interface ClusterSource {
  readonly name: string;
  /** Output of `scontrol show node`. */
  readonly nodes: string;
  /** Output of `sacct`. */
  readonly jobs: string;
}

export interface ClusterHistory {
  readonly name: string;
  readonly document: HeadroomDocument & { readonly kind: "fleet" };
  /** Jobs in the order of the file. Their ids begin with the name of the cluster. */
  readonly jobs: readonly TraceJob[];
  /** Jobs that are not replayed, by reason. */
  readonly leftOut: Readonly<Record<string, number>>;
  readonly unreadCount: number;
  readonly notes: readonly string[];
}

/** Jobs of all clusters together: more would not fit into memory. */
const JOBS_MAX = 5_000_000;

/** `NAME=NODES,JOBS`. */
export function clusterSources(texts: readonly string[]): readonly ClusterSource[] {
  const sources = texts.map((text): ClusterSource => {
    const [, name = "", nodes = "", jobs = ""] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,30})=([^,]+),([^,]+)$/.exec(text) ?? [];
    if (name !== "") return { name, nodes, jobs };
    const message = `--cluster: expected NAME=NODES,JOBS, such as lab=nodes.txt,jobs.txt, got ${JSON.stringify(text)}`;
    throw new CliError(message, exitCode.usage);
  });
  const twice = sources.find(({ name }, index) => sources.findIndex((each) => each.name === name) < index);
  if (twice !== undefined) throw new CliError(`--cluster: the name ${twice.name} is used twice`, exitCode.usage);
  return sources;
}

interface HistoryReading {
  readonly zone: Zone;
  /** True: the jobs accept accelerators of any type, not only those of their cluster. */
  readonly isAnyType: boolean;
  /** Number of jobs of clusters that were read before. */
  readonly jobsBefore: number;
}

/** `null`: the user interrupted it. */
export async function clusterHistory(
  context: CommandContext,
  source: ClusterSource,
  { zone, isAnyType, jobsBefore }: HistoryReading,
): Promise<ClusterHistory | null> {
  const { utc } = await import("@headroom/executors/slurm-reading");
  const { clusterFleet } = await import("@headroom/executors/slurm-fleet");
  const { readDocument } = await import("@headroom/protocol");
  const hardware = new KeptRows();
  if (!(await readOutput(context, { file: source.nodes, rows: hardware, zone: utc }))) return null;
  const nodes = [...hardware.nodes.values()];
  if (!nodes.some((node) => node.hardware !== undefined))
    throw new CliError(
      `${printable(source.nodes)} has no nodes with their hardware; write it with: scontrol show node > nodes.txt`,
      exitCode.usage,
    );
  const { document, notes } = clusterFleet(nodes, { site: source.name, topology: null });
  const pools = document.sites.flatMap(({ pools: own }) => own);
  const reading = readDocument({
    ...document,
    sites: document.sites.map((site) => ({ ...site, pools: site.pools.map((pool) => ownPool(pool, source.name)) })),
  });
  if (!reading.ok || reading.document.kind !== "fleet")
    throw new Error(`the nodes of ${source.name} make no fleet: ${JSON.stringify(reading)}`);
  const types = [...new Set(pools.flatMap(({ accelerator, perNode }) => (perNode > 0 ? (accelerator ?? []) : [])))];
  const rows = new HistoryRows(source.name, isAnyType ? [] : types.toSorted(), JOBS_MAX - jobsBefore);
  if (!(await readOutput(context, { file: source.jobs, rows, zone }))) return null;
  if (rows.jobs.length === 0)
    throw new CliError(
      `${printable(source.jobs)} has no job that ran on accelerators; write it with: sacct -a -X -P -S now-30days -o JobID,Account,Submit,Start,End,Timelimit,AllocTRES,State > jobs.txt`,
      exitCode.usage,
    );
  return {
    name: source.name,
    document: reading.document,
    jobs: rows.jobs,
    leftOut: rows.leftOut,
    unreadCount: rows.unreadCount + hardware.unreadCount,
    notes: notes.map((note) => `${source.name}: ${note}`),
  };
}

interface PoolText {
  readonly name: string;
  readonly nodeLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Clusters can have pools with equal names. */
function ownPool(pool: PoolText, cluster: string): PoolText {
  const { nodeLabels } = pool;
  const labels = Object.entries(nodeLabels ?? {}).map(([node, each]) => [`${cluster}-${node}`, each] as const);
  return {
    ...pool,
    name: `${cluster}-${pool.name}`,
    ...(nodeLabels === undefined ? {} : { nodeLabels: Object.fromEntries(labels) }),
  };
}

class HistoryRows extends KeptRows {
  readonly jobs: TraceJob[] = [];
  readonly leftOut: Record<string, number> = {};
  readonly #cluster: string;
  readonly #types: readonly string[];
  readonly #jobsMax: number;

  constructor(cluster: string, types: readonly string[], jobsMax: number) {
    super();
    this.#jobsMax = jobsMax;
    this.#cluster = cluster;
    this.#types = types;
  }

  override job(row: JobRow): void {
    super.job(row);
    const { id, submit, start, end, gpus, estimated = [], charge } = row;
    if (start === null || estimated.includes("start")) return this.#leaveOut("never started");
    if (end === null || estimated.includes("end")) return this.#leaveOut("still running");
    if (submit === null) return this.#leaveOut("without a time of submission");
    if (gpus === null) return this.#leaveOut("with an unknown number of GPUs");
    if (gpus === 0) return this.#leaveOut("without GPUs");
    const [submittedAtMs, startedAtMs, endedAtMs] = [submit, start, end].map((text) => Date.parse(text));
    if (submittedAtMs === undefined || startedAtMs === undefined || endedAtMs === undefined) return;
    if (startedAtMs < submittedAtMs || endedAtMs < startedAtMs) return this.#leaveOut("with times out of order");
    if (endedAtMs === startedAtMs) return this.#leaveOut("that took no time");
    if (this.jobs.length >= this.#jobsMax)
      throw new CliError(`more than ${JOBS_MAX} jobs in all clusters; take a shorter period`);
    const durationMs = endedAtMs - startedAtMs;
    const limitMs = (charge?.limitS ?? 0) * 1_000;
    this.jobs.push({
      id: `${this.#cluster}/${id}`,
      submittedAtMs,
      durationMs,
      waitedMs: startedAtMs - submittedAtMs,
      accelerators: gpus,
      coresMilli: 0,
      memoryMib: 0,
      acceleratorTypes: this.#types,
      ...(limitMs > 0 ? { walltimeMs: Math.max(limitMs, durationMs) } : {}),
      ...(charge?.account == null ? {} : { account: charge.account }),
    });
  }

  #leaveOut(reason: string): void {
    this.leftOut[reason] = (this.leftOut[reason] ?? 0) + 1;
  }
}

export const clusterOf = ({ id }: TraceJob): string => id.slice(0, id.indexOf("/"));
