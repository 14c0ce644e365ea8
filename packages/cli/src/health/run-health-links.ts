/** `headroom health links`: links that are slow beside their peers, and what is not measured. */
import type { LinkMap } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { ago, instant, plural } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface HealthLinksOptions {
  readonly csv?: boolean;
  readonly json?: boolean;
}

type Item = LinkMap["items"][number];
const ROWS_SHOWN = 40;
const VERDICTS: Readonly<Record<Item["verdict"], string>> = {
  slow: "slow",
  ok: "ok",
  tooFew: "too few pairs",
  notMeasured: "not measured",
};

export async function runHealthLinks(context: CommandContext, { csv, json }: HealthLinksOptions): Promise<ExitCode> {
  const client = await context.connect();
  const map = await client.linkMap();
  if (json === true) context.print(JSON.stringify(map, null, 2));
  else if (csv === true) context.print(...csvRows(map));
  else printTable(context, map);
  return exitCode.ok;
}

const nameOf = ({ leaf, nodes }: Item): string => leaf ?? nodes.join(" - ");

function csvRows({ items }: LinkMap): readonly string[] {
  const titles = [
    "kind",
    "link",
    "pool",
    "verdict",
    "measure",
    "value",
    "median",
    "unit",
    "deviations",
    "pairs",
    "measured",
    "detail",
  ];
  const rows = items.map((item) => [
    item.kind,
    nameOf(item),
    item.pool,
    VERDICTS[item.verdict],
    item.measure ?? "",
    item.value ?? "",
    item.median ?? "",
    item.unit,
    item.deviations ?? "",
    item.pairs,
    item.measuredAtMs === null ? "" : instant(item.measuredAtMs),
    item.detail,
  ]);
  return csvLines(titles, rows);
}

/** Pairs and adapters that are not slow are in the JSON and the CSV alone. */
function printTable(context: CommandContext, { items, pairs, nodes, leftOut }: LinkMap): void {
  const { print, paint, terminal } = context;
  const shown = items.filter(({ kind, verdict }) => verdict === "slow" || kind === "uplink");
  const nowMs = Date.now();
  const rows = shown
    .slice(0, ROWS_SHOWN)
    .map((item) => [
      item.kind,
      printable(nameOf(item)),
      printable(item.pool),
      VERDICTS[item.verdict],
      amount(item.value, item.unit),
      amount(item.median, item.unit),
      item.measuredAtMs === null ? "-" : ago(item.measuredAtMs, nowMs),
      printable(item.detail),
    ]);
  const columns = [
    { title: "KIND" },
    { title: "LINK", minWidth: 6 },
    { title: "POOL" },
    { title: "VERDICT" },
    { title: "VALUE", align: "right" as const },
    { title: "MEDIAN", align: "right" as const },
    { title: "MEASURED" },
    { title: "DETAIL", minWidth: 12 },
  ];
  if (rows.length > 0) print(...tableLines(columns, rows, terminal.stdout, paint), "");
  const slow = items.filter(({ verdict }) => verdict === "slow").length;
  print(
    `${plural(pairs, "pair")} measured, of ${nodes.measured} of ${plural(nodes.total, "node")}; ${plural(slow, "link")} slow`,
  );
  if (nodes.measured < nodes.total)
    context.note(
      `${plural(nodes.total - nodes.measured, "node")} not measured: headroom health links --json says why.`,
    );
  if (leftOut > 0) context.note(`${leftOut} more are left out.`);
}

const amount = (value: number | null, unit: string): string =>
  value === null ? "-" : `${Number(value.toPrecision(4))} ${printable(unit)}`.trim();
