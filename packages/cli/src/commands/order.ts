import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { OptionDefinition } from "../command.ts";
import { limitOption } from "../listing-options.ts";
import type { AdviseOptions } from "../order/advise-orders.ts";
import type {
  AdvanceOrderOptions,
  ChangeOrderOptions,
  CreateOrderOptions,
  ListOrdersOptions,
} from "../order/run-order.ts";

const nameArgument = { syntax: "<name>", description: "name of the order" } as const;
const reasonOption = { flags: "--reason <text>", description: "reason, which is recorded (default: none)" };
const dryRunOption = { flags: "--dry-run", description: "only check the command, without recording anything" };
const arrivalOptions: readonly OptionDefinition[] = [
  {
    flags: "--lead-time <p50..p95>",
    description:
      "durations from the order to the last node, like 5w..8w: half of such orders, and 95% of them, come by then (default: dates)",
  },
  {
    flags: "--expected <p50..p95>",
    description: "dates (UTC), like 2027-01-15..2027-02-20; a single date is certain (default: a lead time)",
  },
];
const phases = ["planned", "ordered", "arriving", "qualifying", "in-service", "leaving", "gone"] as const;

const listSubcommand = defineCommand<ListOrdersOptions>({
  name: "list",
  summary: "List the orders that are not over",
  options: [
    { flags: "--pool <pool>", description: "only orders for this pool" },
    { flags: "--all", description: "also orders that are gone or cancelled, as far as they are kept" },
    { flags: "--csv", description: "print comma-separated values" },
    limitOption,
    jsonOption,
  ],
  async run(context, { options }) {
    const { listOrders } = await import("../order/run-order.ts");
    return listOrders(context, options);
  },
});

const showSubcommand = defineCommand<{ readonly json?: boolean }>({
  name: "show",
  summary: "Show an order, its nodes and who changed it when and why",
  arguments: [nameArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { showOrder } = await import("../order/run-order.ts");
    return showOrder(context, args[0] ?? "", options);
  },
});

const adviseSubcommand = defineCommand<AdviseOptions>({
  name: "advise",
  summary: "Say which nodes would let waiting work start, what they cost, and when they are expected",
  details: `The work in the queue is placed, in its order, on free nodes and on those that are coming. Work that does not fit gets the fewest
further nodes, of the pool where they cost least. Quotas, constraints and data rules count; nothing is ordered.

Examples:
  headroom order advise                            for all waiting work
  headroom order advise --workload train-70b --pool h100
  headroom order advise --propose --lead-time 5w..8w   one proposal for each pool, for another user to approve`,
  options: [
    { flags: "--pool <pool>", description: "only nodes of this pool (default: of any)" },
    { flags: "--workload <workload>", description: "only nodes for this workload (default: for all that wait)" },
    { flags: "--nodes <count>", description: "most nodes of one pool (default: 64)" },
    { flags: "--propose", description: "propose the orders" },
    ...arrivalOptions,
    { flags: "--reason <text>", description: "reason of the proposals (default: the work that would start)" },
    { flags: "--csv", description: "print comma-separated values" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { adviseOrders } = await import("../order/advise-orders.ts");
    return adviseOrders(context, options);
  },
});

const createSubcommand = defineCommand<CreateOrderOptions>({
  name: "create",
  summary: "Record an order of nodes for a pool",
  details: `The order is no capacity: nothing is placed on it. headroom why names it where work fits nowhere until its nodes are there.

Examples:
  headroom order create rack-7 --pool h100 --nodes 4 --lead-time 5w..8w
  headroom order create lease-3 --pool a100 --nodes 16 --expected 2027-01-15 --phase ordered --price 2.10/h`,
  arguments: [nameArgument],
  options: [
    { flags: "--pool <pool>", description: "pool that the nodes will join (required)" },
    { flags: "--nodes <count>", description: "number of nodes (required)" },
    ...arrivalOptions,
    { flags: "--accelerators <count>", description: "accelerators of a node (default: as the pool's first node)" },
    { flags: "--cores <count>", description: "cores of a node (default: as the pool's first node)" },
    { flags: "--memory <size>", description: "memory of a node, like 2TiB (default: as the pool's first node)" },
    {
      flags: "--price <usd>",
      description: "price of the whole order in USD, or per accelerator and hour: 2.10/h (default: none)",
    },
    {
      flags: "--phase <phase>",
      description: "planned, ordered or arriving (default: planned)",
      complete: ["planned", "ordered", "arriving"],
    },
    reasonOption,
    dryRunOption,
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { createOrder } = await import("../order/run-order.ts");
    return createOrder(context, args[0] ?? "", options);
  },
});

const advanceSubcommand = defineCommand<AdvanceOrderOptions>({
  name: "advance",
  summary: "Bring an order to its next phase, or change when its nodes are expected",
  details: `Phases: ${phases.join(", ")}. An order becomes in-service by itself when all its nodes have joined while
it is arriving or qualifying, and gone when the last of them has left the fleet while it is leaving.

Examples:
  headroom order advance rack-7                                  to the next phase
  headroom order advance rack-7 --to arriving --reason "on the dock"
  headroom order advance rack-7 --to ordered --expected 2027-03-01..2027-04-01 --reason "supplier is late"`,
  arguments: [nameArgument],
  options: [
    {
      flags: "--to <phase>",
      description: "a later phase; with dates, also the present one (default: the next phase)",
      complete: phases,
    },
    ...arrivalOptions,
    reasonOption,
    dryRunOption,
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { advanceOrder } = await import("../order/run-order.ts");
    return advanceOrder(context, args[0] ?? "", options);
  },
});

const cancelSubcommand = defineCommand<ChangeOrderOptions>({
  name: "cancel",
  summary: "Cancel an order whose nodes have not all come; nodes that have joined stay",
  arguments: [nameArgument],
  options: [reasonOption, dryRunOption, jsonOption],
  async run(context, { args, options }) {
    const { cancelOrder } = await import("../order/run-order.ts");
    return cancelOrder(context, args[0] ?? "", options);
  },
});

export const orderCommand = defineCommand({
  name: "order",
  summary: "Keep track of nodes that are coming: advise, create, list, show, advance or cancel capacity orders",
  commands: [adviseSubcommand, createSubcommand, listSubcommand, showSubcommand, advanceSubcommand, cancelSubcommand],
  run() {
    return Promise.reject(new CliError("order needs a command: headroom order list", exitCode.usage));
  },
});
