/** `headroom offers compare`: offers of a feed, or of the control plane's feeds, by the price of a useful hour. Unpriced offers are named, never chosen. */
import type { Offer, OfferQuestion } from "@headroom/usage";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { checkedFeed, type PriceCheckOptions } from "../prices/run-price-check.ts";
import { decimal, duration, settings, wholeNumber } from "../simulate/amount-options.ts";

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

/** An offer as it is printed. */
interface PrintedOffer {
  readonly line: number;
  readonly provider: string;
  readonly instance: string;
  readonly region: string;
  readonly accelerator: string;
  readonly market: "on-demand" | "spot";
  readonly usd_per_accelerator_hour: number;
  readonly usd_per_useful_hour: number | null;
  readonly useful_part: number;
  readonly checkpoint_every_hours: number | null;
}

interface Compared {
  readonly offers: readonly PrintedOffer[];
  readonly unpriced: readonly { readonly line: number; readonly defects: readonly string[] }[];
}

const HOUR_MS = 3_600_000;
const LIMIT = 20;
/** Interruptions of spot capacity per hour, if nothing is known: one in ten hours. */
const SPOT_HAZARD = 0.1;

/** Difference of a rate that its decimal notation explains: 0.33 is once in three hours. */
const ROUNDING = 0.02;
const decimalText = (rate: number): string => String(Number(rate.toPrecision(3)));

export async function runOffersCompare(
  context: CommandContext,
  file: string | undefined,
  options: OffersCompareOptions,
): Promise<ExitCode> {
  const compared = file === undefined ? await ofControlPlane(context, options) : await ofFeed(context, file, options);
  const limit = options.limit === undefined ? LIMIT : wholeNumber(options.limit, "--limit", { min: 0, max: 1e6 });
  print(context, { ...compared, offers: compared.offers.slice(0, limit) }, options, file);
  return compared.offers.length === 0 ? exitCode.unsatisfied : exitCode.ok;
}

const amount = (text: string | undefined, usual: number, option: string, max = 1e9): number =>
  text === undefined ? usual : decimal(text, option, { min: 0, max });

/** The conditions of the work, without the providers' speeds. */
function conditionsOf(options: OffersCompareOptions): Omit<OfferQuestion, "speeds"> {
  const hours = (text: string | undefined, usual: string, option: string): number =>
    duration(text ?? usual, option) / HOUR_MS;
  return {
    accelerator: options.accelerator,
    spotHazardPerHour: amount(options.hazard, SPOT_HAZARD, "--hazard", 60),
    checkpointHours: hours(options.checkpoint, "2m", "--checkpoint"),
    restartHours: hours(options.restart, "10m", "--restart"),
    egressUsd: amount(options.egress, 0, "--egress"),
    workHours: Math.max(1, amount(options.hours, 100, "--hours")),
    accelerators: Math.max(1, amount(options.accelerators, 8, "--accelerators")),
  };
}

async function ofFeed(context: CommandContext, file: string, options: OffersCompareOptions): Promise<Compared> {
  const { compareOffers } = await import("@headroom/usage");
  const verdicts = await checkedFeed(context, file, options);
  const providers = [...new Set(verdicts.map(({ row }) => row.provider))];
  const stated = options.speed === undefined ? [] : settings(options.speed, "--speed", providers);
  const speeds = new Map([...stated].map(([provider, speed]) => [provider, Number(speed)]));
  const question = { ...conditionsOf(options), speeds };
  const isAsked = ({ accelerator }: { readonly accelerator: string }): boolean =>
    accelerator.toUpperCase().includes((options.accelerator ?? "").toUpperCase());
  return {
    offers: compareOffers(verdicts, question).map(listed),
    unpriced: verdicts
      .filter(({ row, defects }) => defects.length > 0 && isAsked(row))
      .map(({ row, defects }) => ({ line: row.line, defects: defects.map((defect) => defect.class) })),
  };
}

const listed = ({ verdict: { row }, market, perHour, useful }: Offer): PrintedOffer => ({
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
});

/** The feeds in `offers/` of the control plane's state directory. It counts ages from the present. */
async function ofControlPlane(context: CommandContext, options: OffersCompareOptions): Promise<Compared> {
  if (options.now !== undefined || options.staleAfter !== undefined)
    throw new CliError("--now and --stale-after are for a feed: headroom offers compare FILE", exitCode.usage);
  const wanted = conditionsOf(options);
  if (wanted.spotHazardPerHour === 0)
    throw new CliError("--hazard: expected a rate above 0 without a FILE", exitCode.usage);
  const everyHours = 1 / wanted.spotHazardPerHour;
  const interruptionEveryHours = Math.max(1, Math.round(everyHours));
  if (Math.abs(interruptionEveryHours / everyHours - 1) > ROUNDING)
    throw new CliError(
      `--hazard: without a FILE, interruptions are whole hours apart: ${decimalText(1 / Math.max(1, Math.floor(everyHours)))} or ${decimalText(1 / Math.max(1, Math.ceil(everyHours)))}, got ${options.hazard ?? ""}`,
      exitCode.usage,
    );
  const client = await context.connect();
  const answer = await client.offers({
    accelerator: options.accelerator,
    interruptionEveryHours,
    checkpointS: Math.round(wanted.checkpointHours * 3_600),
    restartS: Math.round(wanted.restartHours * 3_600),
    egressUsd: Math.round(wanted.egressUsd),
    workHours: Math.round(wanted.workHours),
    accelerators: Math.round(wanted.accelerators),
    speeds: options.speed,
  });
  for (const problem of answer.problems) context.note(problem);
  if (answer.feeds.length === 0) context.note("There is no feed in offers/ of the control plane's state directory.");
  return {
    offers: answer.items.map((offer) => ({
      line: offer.line,
      provider: offer.provider,
      instance: offer.instance,
      region: offer.region,
      accelerator: offer.accelerator,
      market: offer.market,
      usd_per_accelerator_hour: offer.usdPerHour,
      usd_per_useful_hour: offer.usdPerUsefulHour,
      useful_part: offer.usefulPart,
      checkpoint_every_hours: offer.checkpointEveryHours,
    })),
    unpriced: answer.unpriced.map(({ line, defects }) => ({ line, defects: defects.map((each) => each.class) })),
  };
}

function print(
  context: CommandContext,
  { offers, unpriced }: Compared,
  options: OffersCompareOptions,
  file: string | undefined,
): void {
  if (options.json === true) {
    context.print(JSON.stringify({ offers, unpriced }, null, 2));
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
  const rows = offers.map((offer) => [
    offer.provider,
    offer.instance,
    offer.region,
    offer.market,
    offer.usd_per_accelerator_hour.toFixed(2),
    `${Math.round(offer.useful_part * 100)}%`,
    offer.usd_per_useful_hour === null ? "–" : offer.usd_per_useful_hour.toFixed(2),
    offer.checkpoint_every_hours === null ? "–" : `${Math.round(offer.checkpoint_every_hours * 60)}m`,
  ]);
  context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  const advice = file === undefined ? "the page Offers names them" : "headroom price check";
  if (unpriced.length > 0)
    context.note(`${unpriced.length} rows have defects; their prices are not offered: ${advice}`);
}
