/** The rows and prices of a cost command: a state directory, a file of rows, or the generated demo. */
import type { BillingRange, HourlyRows, MeteredLine, PowerMeter, PriceBook, TeamWait } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { wholeNumber } from "../simulate/amount-options.ts";
import { instantOption } from "../usage/run-usage.ts";
import { gatewayUsage } from "./gateway-lines.ts";
import { bookOf, priceDocuments, priceTargets } from "./load-prices.ts";

export interface CostSourceOptions {
  readonly state?: string;
  readonly rows?: string;
  readonly demo?: true;
  readonly demoScale?: string;
  readonly prices?: readonly string[];
  readonly month?: string;
  readonly since?: string;
  readonly until?: string;
  /** Folder with the state of gateways; absent: `gateway` in the state directory, if it is there. */
  readonly gateway?: string;
  /** When open rows end; absent: as in `journalRows`. */
  readonly rowsUntilMs?: number;
}

export interface CostSource {
  readonly hourly: HourlyRows;
  readonly book: PriceBook;
  readonly range: BillingRange;
  readonly parents: ReadonlyMap<string, string | null>;
  /** Demand that waited in the range, by team; `null`: only a journal has it. */
  readonly waits: readonly TeamWait[] | null;
  /** Storage and tokens. Only a journal, and the usage files of gateways, have them. */
  readonly metered: readonly MeteredLine[];
  /** Measured power. `null`: there is none, and energy is computed from the power in the price documents. */
  readonly meter: PowerMeter | null;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export async function costSource(context: CommandContext, options: CostSourceOptions): Promise<CostSource> {
  if ([options.state, options.rows, options.demo].filter((each) => each !== undefined).length > 1)
    throw new CliError("choose one of --state, --rows and --demo", exitCode.usage);
  const { HourlyRows, demoMonth, rangeOfRows } = await import("@headroom/usage");
  const hourly = new HourlyRows();
  if (options.demo === true) {
    const { rows, book, metered, fromMs, toMs } = demoMonth(1, scaleOf(options.demoScale));
    for (const row of rows) hourly.add(row);
    const range = chosenRange(options, { fromMs, toMs });
    const inRange = metered.filter(({ dayMs }) => dayMs >= range.fromMs && dayMs < range.toMs);
    return { hourly, book, range, parents: new Map(), waits: null, metered: inRange, meter: null };
  }
  if (options.rows !== undefined) {
    const { readRowsFile } = await import("../usage/usage-csv.ts");
    for await (const row of readRowsFile(context, options.rows)) hourly.add(row);
    const documents = await priceDocuments(context, options.prices ?? []);
    return {
      hourly,
      book: await bookOf(documents),
      range: chosenRange(options, rangeOfRows(hourly)),
      parents: new Map(),
      waits: null,
      metered: [],
      meter: null,
    };
  }
  return stateSource(context, options, hourly);
}

/** At 100 the demo has seven million charges. */
const DEMO_SCALE_MAX = 100;

const scaleOf = (text: string | undefined): number =>
  text === undefined ? 1 : wholeNumber(text, "--demo-scale", { min: 1, max: DEMO_SCALE_MAX });

async function stateSource(
  context: CommandContext,
  options: CostSourceOptions,
  hourly: HourlyRows,
): Promise<CostSource> {
  const { journalRows } = await import("../usage/read-journal.ts");
  const path = await import("node:path");
  const home =
    options.state === undefined ? context.home : path.resolve(context.terminal.workingDirectory, options.state);
  const { StoreFold, WaitingFold, rangeOfRows, withDeclaredPrices } = await import("@headroom/usage");
  const waiting = new WaitingFold({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER });
  const stores = new StoreFold();
  const { rows, fold, untilMs } = await journalRows(home, options.rowsUntilMs, (event) => {
    waiting.fold(event);
    stores.fold(event);
  });
  for (const row of rows) hourly.add(row);
  waiting.end(Math.max(untilMs, fold.atMs));
  const documents = await priceDocuments(context, priceTargets(home, options.prices));
  const book = await bookOf(withDeclaredPrices(documents, fold.pools));
  const range = chosenRange(options, rangeOfRows(hourly));
  const gateways = await gatewayUsage(context, home, options.gateway);
  const metered = [...stores.lines(range, untilMs, book), ...gateways.lines(range, book)];
  const { openPowerReadings } = await import("@headroom/server");
  const { meter, problem } = openPowerReadings(home, range.fromMs);
  if (problem !== null) context.note(`warning: ${problem}`);
  return { hourly, book, range, parents: fold.parents, waits: waiting.byTeam(dayRange(range)), metered, meter };
}

/** Waits are known by day: the first day counts as a whole. */
const dayRange = ({ fromMs, toMs }: BillingRange): BillingRange => ({
  fromMs: Math.floor(fromMs / DAY_MS) * DAY_MS,
  toMs,
});

/** The hours that the options choose, or all hours with rows. */
function chosenRange({ month, since, until }: CostSourceOptions, whole: BillingRange): BillingRange {
  if (month !== undefined) {
    if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month))
      throw new CliError(`--month: expected a month like 2026-10, got ${month}`, exitCode.usage);
    const fromMs = Date.parse(`${month}-01T00:00:00Z`);
    const [year = 0, number = 0] = month.split("-").map(Number);
    return { fromMs, toMs: Date.UTC(year, number, 1) };
  }
  const fromMs = instantOption(since, "--since") ?? whole.fromMs;
  const toMs = instantOption(until, "--until") ?? whole.toMs;
  return { fromMs: Math.floor(fromMs / HOUR_MS) * HOUR_MS, toMs: Math.ceil(toMs / HOUR_MS) * HOUR_MS };
}
