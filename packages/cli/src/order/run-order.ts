/** `headroom order`: capacity orders, from the plan to the retirement of their nodes. */
import type { CapacityOrder, OrderSet } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { limitOf } from "../listing-options.ts";
import { coresText, instant, memoryText, plural } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";
import { arrivalOf, orderPhaseOf, priceOf, shapeOf, wholeNumber } from "./order-options.ts";
import type { ArrivalOptions, ShapeOptions } from "./order-options.ts";

export interface ListOrdersOptions {
  readonly pool?: string;
  readonly all?: boolean;
  readonly csv?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

export interface ChangeOrderOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export interface AdvanceOrderOptions extends ChangeOrderOptions, ArrivalOptions {
  readonly to?: string;
}

export interface CreateOrderOptions extends ChangeOrderOptions, ArrivalOptions, ShapeOptions {
  readonly pool?: string;
  readonly nodes?: string;
  readonly price?: string;
  readonly phase?: string;
}

const columns = [
  { title: "ORDER", minWidth: 8 },
  { title: "POOL", minWidth: 6 },
  { title: "PHASE" },
  { title: "NODES", align: "right" },
  { title: "EXPECTED (P50)" },
  { title: "P95" },
  { title: "LATE" },
] as const;

const csvTitles = [
  "name",
  "pool",
  "phase",
  "nodes",
  "joined",
  "accelerators_per_node",
  "expected_p50",
  "expected_p95",
  "late_s",
  "price_usd",
  "price_per",
];

export async function listOrders(context: CommandContext, options: ListOrdersOptions): Promise<ExitCode> {
  const limit = limitOf(options.limit);
  const client = await context.connect();
  const query = { pool: options.pool, all: options.all };
  const { items, more } = await allPages(
    (cursor, size) => client.listCapacityOrders({ ...query, cursor, limit: size }),
    limit,
  );
  if (options.json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (options.csv === true) context.print(...csvLines(csvTitles, items.map(csvRow)));
  else if (items.length === 0) context.note("No capacity order is open. Record one with `headroom order create`.");
  else {
    const { spanText } = await import("@headroom/views/text");
    const rows = items.map((order) => [
      order.name,
      order.pool,
      shownPhase(order),
      `${order.joinedCount}/${order.nodeCount}`,
      dayOf(order.expected?.p50AtMs),
      dayOf(order.expected?.p95AtMs),
      order.lateMs === 0 ? "" : spanText(order.lateMs),
    ]);
    context.print(...tableLines([...columns], rows, context.terminal.stdout, context.paint));
  }
  if (more) context.note(`There are more than ${plural(items.length, "order")}: use --limit or --pool.`);
  return exitCode.ok;
}

const shownPhase = ({ phase }: Pick<CapacityOrder, "phase">): string => (phase === "inService" ? "in-service" : phase);
const dayOf = (atMs: number | undefined): string => (atMs === undefined ? "" : instant(atMs).slice(0, 10));

const csvRow = (order: CapacityOrder): readonly (string | number)[] => [
  order.name,
  order.pool,
  shownPhase(order),
  order.nodeCount,
  order.joinedCount,
  order.shape.acceleratorCount,
  order.expected === null ? "" : instant(order.expected.p50AtMs),
  order.expected === null ? "" : instant(order.expected.p95AtMs),
  Math.round(order.lateMs / 1_000),
  order.price === undefined ? "" : order.price.microUsd / 1_000_000,
  order.price?.per ?? "",
];

export async function showOrder(
  context: CommandContext,
  name: string,
  { json }: { readonly json?: boolean },
): Promise<ExitCode> {
  const client = await context.connect();
  const order = await client.getCapacityOrder(name);
  if (json === true) {
    context.print(JSON.stringify(order, null, 2));
    return exitCode.ok;
  }
  const { paint, terminal } = context;
  const { shape, price, nodes } = order;
  const pairs = [
    ["phase", shownPhase(order)],
    ["pool", order.pool],
    ["nodes", `${order.joinedCount} of ${order.nodeCount} in the fleet`],
    [
      "a node",
      `${plural(shape.acceleratorCount, "accelerator")}, ${coresText(shape.coresMilli)} cores, ${memoryText(shape.memoryMib)}`,
    ],
    ...(price === undefined ? [] : [["price", priceText(price)] as const]),
    ...(nodes.length === 0 ? [] : [["ids", nodes.join(" ")] as const]),
  ] as (readonly [string, string])[];
  context.print(paint("bold", order.name), ...pairLines(pairs, paint), printable(order.sentence), "");
  const rows = order.changes.map((change) => [
    instant(change.atMs),
    shownPhase(change),
    change.actor ?? (order.automatic === null ? "(nodes)" : "(engine)"),
    printable(change.reason),
  ]);
  const titles = [{ title: "CHANGED" }, { title: "PHASE" }, { title: "BY" }, { title: "REASON", minWidth: 10 }];
  context.print(...tableLines(titles, rows, terminal.stdout, paint));
  return exitCode.ok;
}

const priceText = ({ microUsd, per }: NonNullable<CapacityOrder["price"]>): string =>
  per === "order" ? `${microUsd / 1_000_000} USD` : `${microUsd / 1_000_000} USD per accelerator-hour`;

export async function createOrder(
  context: CommandContext,
  name: string,
  options: CreateOrderOptions,
): Promise<ExitCode> {
  const { pool, nodes, reason, dryRun } = options;
  if (pool === undefined || nodes === undefined)
    throw new CliError("state the pool and the number of nodes: --pool h100 --nodes 4", exitCode.usage);
  const arrival = await arrivalOf(options);
  if (arrival === undefined)
    throw new CliError(
      "state when the nodes are expected: --lead-time 5w..8w, or --expected 2027-01-15",
      exitCode.usage,
    );
  const shape = await shapeOf(options);
  const price = priceOf(options.price);
  const request = {
    name,
    pool,
    nodeCount: wholeNumber(nodes, "--nodes"),
    arrival,
    shape,
    price,
    phase: orderPhaseOf(options.phase, "--phase", ["planned", "ordered", "arriving"]),
    reason,
  };
  const client = await context.connect();
  return printed(context, options, await client.createCapacityOrder(request, { dryRun: dryRun === true }));
}

export async function advanceOrder(
  context: CommandContext,
  name: string,
  options: AdvanceOrderOptions,
): Promise<ExitCode> {
  const arrival = await arrivalOf(options);
  const phase = orderPhaseOf(options.to, "--to", [
    "planned",
    "ordered",
    "arriving",
    "qualifying",
    "inService",
    "leaving",
    "gone",
  ]);
  const client = await context.connect();
  const body = { phase, arrival, reason: options.reason };
  return printed(context, options, await client.advanceCapacityOrder(name, body, { dryRun: options.dryRun === true }));
}

export async function cancelOrder(
  context: CommandContext,
  name: string,
  options: ChangeOrderOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const body = options.reason === undefined ? {} : { reason: options.reason };
  return printed(context, options, await client.cancelCapacityOrder(name, body, { dryRun: options.dryRun === true }));
}

function printed(context: CommandContext, { json }: ChangeOrderOptions, set: OrderSet): ExitCode {
  if (json === true) context.print(JSON.stringify(set, null, 2));
  else context.print(`order ${set.name} ${set.dryRun ? "would be" : "is"} ${shownPhase(set)}`);
  return exitCode.ok;
}
