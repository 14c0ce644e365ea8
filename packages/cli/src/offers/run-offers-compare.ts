/** `headroom offers compare`: offers of a feed by the price of a useful hour. Unpriced offers are named, never chosen. */
import type { FeedVerdict, UsefulHour } from "@headroom/usage";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { checkedFeed, type PriceCheckOptions } from "../prices/run-price-check.ts";
import { decimal, duration, settings } from "../simulate/amount-options.ts";

export interface OffersCompareOptions extends PriceCheckOptions {
  readonly accelerator?: string;
  readonly accelerators?: string;
  readonly hours?: string;
  readonly hazard?: string;
  readonly checkpoint?: string;
  readonly restart?: string;
  readonly egress?: string;
  readonly speed?: string;
  readonly limit?: string;
}

interface Offer {
  readonly verdict: FeedVerdict;
  readonly market: "on-demand" | "spot";
  readonly perHour: number;
  readonly useful: UsefulHour;
}

const HOUR_MS = 3_600_000;
const LIMIT = 20;
/** Interruptions of spot capacity per hour, if nothing is known: one in ten hours. */
const SPOT_HAZARD = 0.1;

export async function runOffersCompare(
  context: CommandContext,
  file: string,
  options: OffersCompareOptions,
): Promise<ExitCode> {
  const { usefulHour } = await import("@headroom/usage");
  const verdicts = (await checkedFeed(context, file, options)).filter(
    ({ row }) =>
      options.accelerator === undefined || row.accelerator.toUpperCase().includes(options.accelerator.toUpperCase()),
  );
  const amount = (text: string | undefined, usual: number, option: string, max = 1e9): number =>
    text === undefined ? usual : decimal(text, option, { min: 0, max });
  const hours = (text: string | undefined, usual: string, option: string): number =>
    duration(text ?? usual, option) / HOUR_MS;
  const providers = [...new Set(verdicts.map(({ row }) => row.provider))];
  const speeds = options.speed === undefined ? null : settings(options.speed, "--speed", providers);
  const common = {
    checkpointHours: hours(options.checkpoint, "2m", "--checkpoint"),
    restartHours: hours(options.restart, "10m", "--restart"),
    egressUsd: amount(options.egress, 0, "--egress"),
    workHours: Math.max(1, amount(options.hours, 100, "--hours")),
    accelerators: Math.max(1, amount(options.accelerators, 8, "--accelerators")),
  };
  const spotHazard = amount(options.hazard, SPOT_HAZARD, "--hazard", 60);
  const offers: Offer[] = [];
  for (const verdict of verdicts) {
    const speed = Number(speeds?.get(verdict.row.provider) ?? 1);
    const add = (market: Offer["market"], perHour: number | null, hazardPerHour: number): void => {
      if (perHour !== null)
        offers.push({ verdict, market, perHour, useful: usefulHour({ ...common, perHour, hazardPerHour, speed }) });
    };
    add("on-demand", verdict.onDemand, 0);
    add("spot", verdict.spot, spotHazard);
  }
  offers.sort(
    (left, right) =>
      left.useful.usdPerUsefulHour - right.useful.usdPerUsefulHour || left.verdict.row.line - right.verdict.row.line,
  );
  print(context, offers.slice(0, amount(options.limit, LIMIT, "--limit")), verdicts, options);
  return offers.length === 0 ? exitCode.unsatisfied : exitCode.ok;
}

function print(
  context: CommandContext,
  offers: readonly Offer[],
  verdicts: readonly FeedVerdict[],
  options: OffersCompareOptions,
): void {
  const unpriced = verdicts.filter(({ defects }) => defects.length > 0);
  if (options.json === true) {
    const items = offers.map(({ verdict: { row }, market, perHour, useful }) => ({
      line: row.line,
      provider: row.provider,
      instance: row.instance,
      region: row.region,
      accelerator: row.accelerator,
      market,
      usd_per_accelerator_hour: perHour,
      usd_per_useful_hour: useful.usdPerUsefulHour,
      useful_part: useful.usefulPart,
      checkpoint_every_hours: useful.checkpointEveryHours,
    }));
    const left = unpriced.map(({ row, defects }) => ({
      line: row.line,
      defects: defects.map((defect) => defect.class),
    }));
    context.print(JSON.stringify({ offers: items, unpriced: left }, null, 2));
    return;
  }
  const columns = [
    { title: "PROVIDER", minWidth: 8 },
    { title: "INSTANCE", minWidth: 10 },
    { title: "REGION", minWidth: 8 },
    { title: "MARKET" },
    { title: "$/H", align: "right" as const },
    { title: "USEFUL", align: "right" as const },
    { title: "$/USEFUL H", align: "right" as const },
    { title: "CHECKPOINT", align: "right" as const },
  ];
  const rows = offers.map(({ verdict: { row }, market, perHour, useful }) => [
    row.provider,
    row.instance,
    row.region,
    market,
    perHour.toFixed(2),
    `${Math.round(useful.usefulPart * 100)}%`,
    useful.usdPerUsefulHour.toFixed(2),
    useful.checkpointEveryHours === null ? "–" : `${Math.round(useful.checkpointEveryHours * 60)}m`,
  ]);
  context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  if (unpriced.length > 0)
    context.note(`${unpriced.length} rows have defects; their prices are not offered: headroom price check`);
}
