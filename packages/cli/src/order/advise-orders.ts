/** `headroom order advise`: which nodes would let waiting work start, what they cost, and proposals to order them. */
import { createHash } from "node:crypto";
import type { OrderAdvice, Proposal } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { coresText, instant, memoryText, plural } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { allPages, resolveWorkload } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";
import { arrivalOf, wholeNumber } from "./order-options.ts";
import type { ArrivalOptions } from "./order-options.ts";

export interface AdviseOptions extends ArrivalOptions {
  readonly pool?: string;
  readonly workload?: string;
  readonly nodes?: string;
  readonly propose?: boolean;
  readonly reason?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
}

type AdvisedOrder = OrderAdvice["orders"][number];

const MICRO = 1_000_000;

export async function adviseOrders(context: CommandContext, options: AdviseOptions): Promise<ExitCode> {
  const { pool, nodes, propose, json, csv } = options;
  const client = await context.connect();
  const workload = options.workload === undefined ? undefined : (await resolveWorkload(client, options.workload)).id;
  const advice = await client.adviseOrders({
    pool,
    workload,
    nodes: nodes === undefined ? undefined : wholeNumber(nodes, "--nodes"),
  });
  const proposals = propose === true ? await proposed(context, advice, options) : [];
  if (json === true) context.print(JSON.stringify({ ...advice, proposals: proposals.map(({ id }) => id) }, null, 2));
  else if (csv === true) context.print(...csvLines(csvTitles, advice.orders.map(csvRow)));
  else print(context, advice, proposals);
  return exitCode.ok;
}

const columns = [
  { title: "POOL", minWidth: 6 },
  { title: "NODES", align: "right" },
  { title: "A NODE" },
  { title: "USD/H", align: "right" },
  { title: "EXPECTED (P50)" },
  { title: "P95" },
  { title: "TASKS", align: "right" },
  { title: "WORKLOADS", minWidth: 10 },
] as const;

const csvTitles = [
  "pool",
  "nodes",
  "accelerators_per_node",
  "usd_per_hour",
  "expected_p50",
  "expected_p95",
  "tasks",
  "workloads",
];

const csvRow = (order: AdvisedOrder): readonly (string | number)[] => [
  order.pool,
  order.nodes,
  order.shape.acceleratorCount,
  order.microUsdPerHour / MICRO,
  order.expected === null ? "" : instant(order.expected.p50AtMs),
  order.expected === null ? "" : instant(order.expected.p95AtMs),
  order.taskCount,
  order.workloadCount,
];

const usd = (microUsd: number): string => (microUsd === 0 ? "" : (microUsd / MICRO).toFixed(2));

function print(context: CommandContext, advice: OrderAdvice, proposals: readonly Proposal[]): void {
  const { terminal, paint } = context;
  context.print(printable(advice.sentence));
  if (advice.orders.length > 0) {
    const rows = advice.orders.map(({ shape, expected, workloads, workloadCount, ...order }) => [
      order.pool,
      String(order.nodes),
      `${plural(shape.acceleratorCount, "accelerator")}, ${coresText(shape.coresMilli)} cores, ${memoryText(shape.memoryMib)}`,
      usd(order.microUsdPerHour),
      expected === null ? "" : instant(expected.p50AtMs),
      expected === null ? "" : instant(expected.p95AtMs),
      String(order.taskCount),
      workloads.join(" ") + (workloadCount > workloads.length ? ` and ${workloadCount - workloads.length} more` : ""),
    ]);
    context.print("", ...tableLines([...columns], rows, terminal.stdout, paint));
  }
  for (const { pool, others } of advice.orders)
    for (const other of others) {
      const price = other.microUsdPerHour === 0 ? "" : `, ${usd(other.microUsdPerHour)} USD/h`;
      context.print(`Instead of ${pool}: ${plural(other.nodes, "node")} of ${other.pool}${price}.`);
    }
  for (const { workload, reason } of advice.unserved)
    context.print(
      reason === "limit"
        ? `${workload}: a quota or budget holds it, so no order starts it. See headroom why ${workload}.`
        : `${workload}: no pool has nodes that would hold it, or it takes more than --nodes allows.`,
    );
  for (const { id } of proposals) context.print(`proposed as ${id}: headroom proposal show ${id}`);
  if (!advice.isComplete)
    context.note("The queue is longer than what was looked at; the first in the queue are served.");
}

/** One proposal for each order. An approved one records the order in phase `planned`. */
async function proposed(
  context: CommandContext,
  advice: OrderAdvice,
  options: AdviseOptions,
): Promise<readonly Proposal[]> {
  const stated = await arrivalOf(options);
  const silent = advice.orders.find(({ leadTime }) => leadTime === null);
  if (stated === undefined && silent !== undefined)
    throw new CliError(
      `the pool ${silent.pool} states no lead time: add --lead-time 5w..8w, or --expected 2027-01-15`,
      exitCode.usage,
    );
  const client = await context.connect();
  const { items } = await allPages((cursor, limit) => client.listProposals({ cursor, limit }), OPEN_PROPOSALS_MAX);
  for (const { id, change, phase } of items)
    if (change.kind === "order" && phase !== "acted" && advice.orders.some(({ pool }) => pool === change.order.pool))
      throw new CliError(
        `${id} proposes nodes of ${change.order.pool} already: approve, reject or withdraw it first (headroom proposal show ${id})`,
        exitCode.failed,
      );
  const stamp = instant(advice.atMs)
    .replaceAll(/[^0-9]/g, "")
    .slice(0, 12);
  const proposals: Proposal[] = [];
  for (const { pool, nodes, shape, leadTime, workloadCount } of advice.orders) {
    const arrival = stated ?? (leadTime === null ? undefined : ({ kind: "leadTime", ...leadTime } as const));
    if (arrival === undefined) continue;
    const order = { name: `advised-${nameIn(pool)}-${stamp}`, pool, nodeCount: nodes, arrival, shape };
    const reason = options.reason ?? `${plural(workloadCount, "workload")} would start`;
    proposals.push(await client.createProposal({ change: { kind: "order", order }, reason }));
  }
  return proposals;
}

/** Names of orders have at most 63 characters. A long name of a pool is shortened, with a hash that tells it apart. */
function nameIn(pool: string): string {
  if (pool.length <= POOL_SHOWN) return pool;
  const hash = createHash("sha256").update(pool).digest("hex").slice(0, 8);
  return `${pool.slice(0, POOL_SHOWN - 9)}-${hash}`;
}

const POOL_SHOWN = 40;
/** More than can be open at once. */
const OPEN_PROPOSALS_MAX = 1_000;
