import type { Fleet } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { forceOption, removalText } from "../removal.ts";
import { tableLines } from "../output/table.ts";

interface FleetCommandOptions {
  readonly json?: boolean;
}

interface RemoveOptions extends FleetCommandOptions {
  readonly force?: boolean;
}

const removePoolCommand = defineCommand<RemoveOptions>({
  name: "remove-pool",
  summary: "Remove a pool with its nodes",
  details:
    "Refused while work runs on one of the nodes. Declaring the pool again with `headroom apply` cancels a removal that still\n" +
    "waits for work.\nExample:\n  headroom fleet remove-pool a100-old --force",
  arguments: [{ syntax: "<pool>", description: "name of the pool, as `headroom fleet` shows it" }],
  options: [forceOption, jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.removePool(args[0] ?? "", { force: options.force === true });
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(removalText(`pool ${answer.pool} with ${plural(answer.nodes, "node")}`, answer.workloads));
    return exitCode.ok;
  },
});

const removeSiteCommand = defineCommand<RemoveOptions>({
  name: "remove-site",
  summary: "Remove a site with its pools and their nodes",
  details: "Refused while work runs on one of the nodes.\nExample:\n  headroom fleet remove-site dc1",
  arguments: [{ syntax: "<site>", description: "name of the site, as `headroom fleet` shows it" }],
  options: [forceOption, jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const { site, pools, nodes, workloads } = await client.removeSite(args[0] ?? "", { force: options.force === true });
    if (options.json === true) context.print(JSON.stringify({ site, pools, nodes, workloads }, null, 2));
    else
      context.print(removalText(`site ${site} with ${plural(pools, "pool")} and ${plural(nodes, "node")}`, workloads));
    return exitCode.ok;
  },
});

export const fleetCommand = defineCommand<FleetCommandOptions>({
  name: "fleet",
  summary: "Show sites, pools and free capacity; remove a pool or a site",
  commands: [removePoolCommand, removeSiteCommand],
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const fleet = await client.fleet();
    if (options.json === true) {
      context.print(JSON.stringify(fleet, null, 2));
      return exitCode.ok;
    }
    const columns = [
      { title: "SITE", minWidth: 6 },
      { title: "POOL", minWidth: 6 },
      { title: "EXECUTOR" },
      { title: "TYPE", minWidth: 6 },
      ...["NODES", "HELD", "FREE", "UNAVAILABLE", "TOTAL"].map((title) => ({ title, align: "right" as const })),
    ];
    // Few pools have hot spares, so the column is shown only if a pool has some.
    const hasHotSpares = fleet.pools.some(({ hotSpares }) => hotSpares !== undefined);
    const hasRules = fleet.pools.some(({ qualification }) => qualification !== undefined);
    const hasForeign = fleet.accelerators.foreign !== undefined;
    const shown = [
      ...columns,
      ...(hasForeign ? [{ title: "FOREIGN", align: "right" as const }] : []),
      ...(hasHotSpares ? [{ title: "SPARES", align: "right" as const }] : []),
      ...(hasRules ? [{ title: "QUALIFICATION" }] : []),
    ];
    const rows = fleet.pools.map((pool) => {
      const { name, site, executor, acceleratorType, nodes, accelerators } = pool;
      const { held, free, unavailable, total, foreign = 0 } = accelerators;
      const row = [site, name, executor, acceleratorType, ...[nodes, held, free, unavailable, total].map(String)];
      return [
        ...row,
        ...(hasForeign ? [String(foreign)] : []),
        ...(hasHotSpares ? [hotSparesText(pool)] : []),
        ...(hasRules ? [qualificationText(pool)] : []),
      ];
    });
    context.print(...tableLines(shown, rows, context.terminal.stdout, context.paint));
    if (fleet.caps !== undefined) context.print(...(await capLines(fleet.caps, context)));
    const { total, up, lost, draining, inMaintenance, qualifying } = fleet.nodes;
    const unproven = qualifying === undefined ? "" : `, ${qualifying} qualifying`;
    context.note(
      `${plural(total, "node")}: ${up} up, ${lost} lost, ${draining} draining, ${inMaintenance} in maintenance${unproven}. \`headroom nodes\` lists them.`,
    );
    return exitCode.ok;
  },
});

/** Domains with a cap on power or cooling, the fullest first. */
async function capLines(
  caps: NonNullable<Fleet["caps"]>,
  { terminal, paint }: Pick<CommandContext, "terminal" | "paint">,
): Promise<readonly string[]> {
  const { wattsText } = await import("@headroom/views");
  const rows = caps
    .slice(0, CAPS_SHOWN)
    .map(({ of, level, path, capWatts, drawWatts }) => [
      of,
      `${level} ${path.length === 1 ? (path[0] ?? "") : path.slice(1).join("/")}`,
      path[0] ?? "",
      wattsText(drawWatts),
      wattsText(capWatts),
    ]);
  const columns = [
    { title: "CAP" },
    { title: "DOMAIN", minWidth: 8 },
    { title: "SITE" },
    { title: "DRAW", align: "right" as const },
    { title: "OF", align: "right" as const },
  ];
  return ["", ...tableLines(columns, rows, terminal.stdout, paint)];
}

const CAPS_SHOWN = 20;

/** Number of hot spares now, and the declared number. */
const hotSparesText = ({ hotSpares = 0, hotSparesKept = 0 }: Fleet["pools"][number]): string =>
  hotSpares === hotSparesKept ? String(hotSpares) : `${hotSparesKept} of ${hotSpares}`;

/** The suite of the pool's rule, and the nodes that have not passed it. */
const qualificationText = ({ qualification, qualifying = 0 }: Fleet["pools"][number]): string =>
  qualification === undefined
    ? "-"
    : `${qualification.suite}${qualifying === 0 ? "" : `, ${plural(qualifying, "node")} to go`}`;
