/** Reads the options of `headroom proposal`. */
import type { ProposalRequestInput } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { proposalKindNames } from "./proposal-kinds.ts";

export interface ChangeOptions {
  readonly guarantee?: readonly string[];
  readonly limit?: readonly string[];
  readonly userLimit?: readonly string[];
  readonly weight?: string;
  readonly priority?: string;
  readonly requeue?: boolean;
  readonly migrations?: string;
  readonly spares?: string;
  readonly walltime?: string;
  readonly workers?: string;
  readonly minWorkers?: string;
  readonly pool?: string;
  readonly nodes?: string;
  readonly leadTime?: string;
  readonly price?: string;
  readonly text?: string;
  readonly number?: string;
  readonly remove?: boolean;
}

type Change = ProposalRequestInput["change"];

/** The change by its kind, the name that follows it, and the options of the kind. */
export async function changeOf(kind: string, name: string | undefined, options: ChangeOptions): Promise<Change> {
  switch (kind) {
    case "quota":
      return quotaChange(named(name, "quota research --limit accelerators=64"), options);
    case "priority":
      return {
        kind: "priority",
        workloadId: named(name, "priority w12 --priority 100"),
        priority: wholeNumber(options.priority ?? "", "--priority"),
      };
    case "drain":
      return {
        kind: "drain",
        nodeId: named(name, "drain n1"),
        running: options.requeue === true ? "requeue" : "wait",
      };
    case "defragment":
      return {
        kind: "defragment",
        ...(options.migrations === undefined ? {} : { migrationsMax: wholeNumber(options.migrations, "--migrations") }),
      };
    case "resume":
      return { kind: "resume", nodeId: named(name, "resume n1") };
    case "restart":
      return { kind: "restart", workloadId: named(name, "restart w12") };
    case "spares":
      return {
        kind: "spares",
        pool: named(name, "spares h100 --spares 2"),
        hotSpares: wholeNumber(options.spares ?? "", "--spares"),
      };
    case "remediate":
      return {
        kind: "remediate",
        remediation: named(name, "remediate nccl-2.21 --nodes gpu07,gpu08"),
        nodeIds: nodesOf(options.nodes),
      };
    case "alias":
      return aliasChange(named(name, "alias model:default/chat@production --number 7"), options);
    case "request":
      return requestChange(named(name, "request w12 --walltime 4h"), options);
    case "order":
      return orderChange(named(name, "order h100-2027 --pool h100 --nodes 4 --lead-time 8w..12w"), options);
    case "advice":
      return {
        kind: "advice",
        about: named(name, "advice fabric --text 'ask the supplier for a quote'"),
        text: options.text ?? refuse("state the advice: --text TEXT"),
      };
    default:
      throw new CliError(`expected one of ${proposalKindNames.join(", ")}, got ${kind}`, exitCode.usage);
  }
}

function aliasChange(name: string, { number, remove }: ChangeOptions): Change {
  const [artifact = "", alias = ""] = name.split("@");
  if (alias === "" || (number === undefined) === (remove !== true))
    throw new CliError(
      "state the alias and its version: model:default/chat@production --number 7, or --remove",
      exitCode.usage,
    );
  return { kind: "alias", artifact, alias, number: number === undefined ? null : wholeNumber(number, "--number") };
}

async function orderChange(name: string, options: ChangeOptions): Promise<Change> {
  const { arrivalOf, priceOf } = await import("../order/order-options.ts");
  const { pool, nodes, leadTime, price: text } = options;
  const arrival = leadTime === undefined ? undefined : await arrivalOf({ leadTime });
  if (pool === undefined || nodes === undefined || arrival === undefined)
    return refuse("state the order: --pool POOL --nodes COUNT --lead-time P50..P95");
  const price = priceOf(text);
  const stated = price === undefined ? {} : { price };
  return { kind: "order", order: { name, pool, nodeCount: wholeNumber(nodes, "--nodes"), arrival, ...stated } };
}

function refuse(message: string): never {
  throw new CliError(message, exitCode.usage);
}

export function nodesOf(text: string | undefined): string[] {
  const nodes = [...new Set((text ?? "").split(",").filter((name) => name !== ""))];
  if (nodes.length > 0) return nodes;
  throw new CliError("state the nodes: --nodes gpu07,gpu08", exitCode.usage);
}

function named(name: string | undefined, example: string): string {
  if (name !== undefined) return name;
  throw new CliError(`state what the change is about: headroom proposal create ${example}`, exitCode.usage);
}

async function requestChange(workloadId: string, { walltime, workers, minWorkers }: ChangeOptions): Promise<Change> {
  if (walltime === undefined && workers === undefined && minWorkers === undefined)
    throw new CliError("state what changes: --walltime DURATION, --workers or --min-workers", exitCode.usage);
  return {
    kind: "request",
    workloadId,
    ...(walltime === undefined ? {} : { walltimeMs: await durationOf(walltime, "--walltime", 1_000) }),
    ...(workers === undefined ? {} : { workers: wholeNumber(workers, "--workers") }),
    ...(minWorkers === undefined ? {} : { minWorkers: wholeNumber(minWorkers, "--min-workers") }),
  };
}

/** `minMs`: the shortest duration that the option takes. */
export async function durationOf(text: string, option: string, minMs: number): Promise<number> {
  const { DURATION_MS_MAX, readDuration } = await import("@headroom/protocol");
  const reading = readDuration(text, { min: minMs, max: DURATION_MS_MAX });
  if (reading.ok) return reading.value;
  throw new CliError(`${option}: ${reading.message}`, exitCode.usage);
}

async function quotaChange(team: string, options: ChangeOptions): Promise<Change> {
  const { guarantee, limit, userLimit, weight } = options;
  const amounts = async (entries: readonly string[], option: string): Promise<Record<string, number | null>> =>
    Object.fromEntries(await Promise.all(entries.map((entry) => amountOf(entry, option))));
  if (guarantee === undefined && limit === undefined && userLimit === undefined && weight === undefined)
    throw new CliError(
      "state what changes: --guarantee, --limit or --user-limit RESOURCE=AMOUNT, or --weight",
      exitCode.usage,
    );
  return {
    kind: "quota",
    team,
    ...(guarantee === undefined ? {} : { guarantee: await amounts(guarantee, "--guarantee") }),
    ...(limit === undefined ? {} : { limit: await amounts(limit, "--limit") }),
    ...(userLimit === undefined ? {} : { userLimit: await amounts(userLimit, "--user-limit") }),
    ...(weight === undefined ? {} : { weight: amount(weight, "--weight") }),
  };
}

/** `accelerators=64`, `cores=128`, `memory=2TiB`, or `H100-SXM=none`, which removes the entry. */
async function amountOf(entry: string, option: string): Promise<readonly [string, number | null]> {
  const [, resource = "", text = ""] = /^([^=]+)=(.+)$/.exec(entry) ?? [];
  if (resource === "") throw new CliError(`${option}: expected RESOURCE=AMOUNT, got ${entry}`, exitCode.usage);
  if (text === "none") return [resource, null];
  if (resource === "memory") {
    const { limits, readMemory } = await import("@headroom/protocol");
    const reading = readMemory(text, { min: 0, max: limits.AMOUNT_MAX });
    if (!reading.ok) throw new CliError(`${option}: ${reading.message}`, exitCode.usage);
    return [resource, reading.value];
  }
  return [resource, resource === "cores" ? Math.round(amount(text, option) * 1000) : amount(text, option)];
}

function amount(text: string, option: string): number {
  if (/^\d{1,9}(?:\.\d{1,3})?$/.test(text)) return Number(text);
  throw new CliError(`${option}: expected a number, got ${text}`, exitCode.usage);
}

export function wholeNumber(text: string, option: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw new CliError(`${option}: expected a whole number, got ${JSON.stringify(text)}`, exitCode.usage);
}
