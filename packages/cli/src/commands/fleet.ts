import type { Fleet } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";

interface FleetCommandOptions {
  readonly json?: boolean;
}

export const fleetCommand = defineCommand<FleetCommandOptions>({
  name: "fleet",
  summary: "Show sites, pools and free capacity",
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
    const shown = hasHotSpares ? [...columns, { title: "SPARES", align: "right" as const }] : columns;
    const rows = fleet.pools.map((pool) => {
      const { name, site, executor, acceleratorType, nodes, accelerators } = pool;
      const { held, free, unavailable, total } = accelerators;
      const row = [site, name, executor, acceleratorType, ...[nodes, held, free, unavailable, total].map(String)];
      return hasHotSpares ? [...row, hotSparesText(pool)] : row;
    });
    context.print(...tableLines(shown, rows, context.terminal.stdout, context.paint));
    const { total, up, lost, draining, inMaintenance } = fleet.nodes;
    context.note(
      `${plural(total, "node")}: ${up} up, ${lost} lost, ${draining} draining, ${inMaintenance} in maintenance. \`headroom nodes\` lists them.`,
    );
    return exitCode.ok;
  },
});

/** Number of hot spares now, and the declared number. */
const hotSparesText = ({ hotSpares = 0, hotSparesKept = 0 }: Fleet["pools"][number]): string =>
  hotSpares === hotSparesKept ? String(hotSpares) : `${hotSparesKept} of ${hotSpares}`;
