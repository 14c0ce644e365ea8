/** `headroom health peers`: nodes and accelerators whose readings differ from those of their comparable set. */
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface HealthPeersOptions {
  readonly json?: boolean;
}

const ROWS_SHOWN = 40;

export async function runHealthPeers(context: CommandContext, { json }: HealthPeersOptions): Promise<ExitCode> {
  const client = await context.connect();
  const { compared, items } = await client.comparePeers();
  if (json === true) {
    context.print(JSON.stringify({ compared, items }, null, 2));
    return exitCode.ok;
  }
  const rows = items
    .slice(0, ROWS_SHOWN)
    .map(({ nodeId, accelerator, set, metric, unit, value, median, deviations }) => [
      `${printable(nodeId)}${accelerator === null ? "" : `#${accelerator}`}`,
      printable(set),
      printable(metric),
      `${rounded(value)} ${unit}`.trim(),
      `${rounded(median)} ${unit}`.trim(),
      `${deviations > 0 ? "+" : ""}${deviations}`,
    ]);
  const columns = [
    { title: "NODE", minWidth: 6 },
    { title: "SET" },
    { title: "METRIC" },
    { title: "VALUE", align: "right" as const },
    { title: "MEDIAN", align: "right" as const },
    { title: "DEVIATIONS", align: "right" as const },
  ];
  if (rows.length > 0) context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint), "");
  context.print(
    `${compared} nodes and accelerators compared; ${plural(items.length, "value")} unlike those of the set`,
  );
  return exitCode.ok;
}

const rounded = (value: number): number => Number(value.toPrecision(4));
