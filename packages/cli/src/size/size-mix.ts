/** `headroom size mix`: the cheapest fleet of unlike accelerators for an endpoint's traffic, beside the cheapest of one type. */
import type { ChosenFleet, FleetChoice, FleetQuestion } from "@headroom/autoscale";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { rate, wholeNumber } from "../simulate/amount-options.ts";
import { needed } from "./model-options.ts";
import { given, positive, positiveDuration, significant } from "./quantities.ts";

export interface MixOptions {
  readonly model?: string;
  readonly offer?: readonly string[];
  readonly traffic?: readonly string[];
  readonly ttft?: string;
  readonly tpot?: string;
  readonly share?: string;
  readonly json?: true;
}

/** Fleets are tried one by one, so their types and requests are bounded. */
const OFFERS_MAX = 6;
const CLASSES_MAX = 6;
const REQUESTS_PER_S_MAX = 200;
const TOKENS_MAX = 200_000;
const SIMULATED_S = 300;

export async function runSizeMix(context: CommandContext, options: MixOptions): Promise<ExitCode> {
  const question = await questionOf(options);
  const { chooseFleet } = await import("@headroom/autoscale");
  const choice = chooseFleet(question);
  if (options.json === true) context.print(JSON.stringify(choice, null, 2));
  else if (choice.fleet !== null) context.print(...choiceLines(choice, context));
  if (choice.fleet !== null) return exitCode.ok;
  const unfit =
    choice.unfit.length === 0 ? "" : ` One accelerator does not hold the model: ${choice.unfit.join(", ")}.`;
  if (options.json !== true)
    context.note(
      `No fleet of these types reaches the objectives.${unfit} Raise --ttft or --tpot, or offer other types.`,
    );
  return exitCode.unsatisfied;
}

async function questionOf(options: MixOptions): Promise<FleetQuestion> {
  const { findAccelerator, findModel } = await import("@headroom/perf");
  const name = needed(options.model, "--model", "llama-3-8b");
  const model = findModel(name);
  if (model === undefined)
    throw new CliError(`--model: no preset ${name}; list models with: headroom size catalogue`, exitCode.usage);
  const offers = listed(options.offer, { option: "--offer", example: "L4=0.7", max: OFFERS_MAX }).map((text) => {
    const [type = "", price = ""] = text.split("=");
    const accelerator = findAccelerator(type);
    if (accelerator === undefined)
      throw new CliError(`--offer: no accelerator ${type}; list them with: headroom size catalogue`, exitCode.usage);
    return { accelerator, pricePerHour: positive(price, "--offer, price") };
  });
  const classes = listed(options.traffic, { option: "--traffic", example: "15,300,180", max: CLASSES_MAX }).map(
    classOf,
  );
  const total = classes.reduce((sum, { requestsPerS }) => sum + requestsPerS, 0);
  if (total > REQUESTS_PER_S_MAX)
    throw new CliError(
      `--traffic: at most ${REQUESTS_PER_S_MAX} requests a second together, got ${total}`,
      exitCode.usage,
    );
  return {
    model,
    offers,
    classes,
    objectives: {
      ttftMs: given(options.ttft, (text) => positiveDuration(text, "--ttft"), 1000),
      tpotMs: given(options.tpot, (text) => positiveDuration(text, "--tpot"), 50),
    },
    attainmentPct: given(options.share, (text) => rate(text, "--share") / 100, 99),
    seconds: SIMULATED_S,
  };
}

function listed(
  values: readonly string[] | undefined,
  { option, example, max }: { readonly option: string; readonly example: string; readonly max: number },
): readonly string[] {
  if (values === undefined || values.length === 0) needed(undefined, option, example);
  const found = values ?? [];
  if (found.length > max) throw new CliError(`${option}: at most ${max}, got ${found.length}`, exitCode.usage);
  return found;
}

function classOf(text: string): FleetQuestion["classes"][number] {
  const [requests = "", prompt = "", output = "", ttft, tpot, ...others] = text.split(",");
  if (others.length > 0 || (ttft === undefined) !== (tpot === undefined))
    throw new CliError(
      `--traffic: expected RATE,PROMPT,OUTPUT or RATE,PROMPT,OUTPUT,TTFT,TPOT such as 2,4500,280,15s,150ms, got ${text}`,
      exitCode.usage,
    );
  const within = (value: string, what: string): number => positiveDuration(value, `--traffic, ${what}`);
  const tokens = (value: string, what: string): number => wholeNumber(value, what, { min: 1, max: TOKENS_MAX });
  return {
    requestsPerS: positive(requests, "--traffic, requests a second"),
    promptTokens: tokens(prompt, "--traffic, prompt tokens"),
    outputTokens: tokens(output, "--traffic, output tokens"),
    ...(ttft === undefined || tpot === undefined
      ? {}
      : { objectives: { ttftMs: within(ttft, "TTFT"), tpotMs: within(tpot, "TPOT") } }),
  };
}

function choiceLines({ fleet, oneType, unfit }: FleetChoice, { terminal, paint }: CommandContext): readonly string[] {
  const row = (title: string, { text, pricePerHour, attainmentPct }: ChosenFleet): string[] => [
    title,
    text,
    `${significant(pricePerHour)}/h`,
    `${attainmentPct.toFixed(1)}%`,
  ];
  const columns = [
    { title: "FLEET" },
    { title: "REPLICAS" },
    { title: "PRICE", align: "right" } as const,
    { title: "WITHIN OBJECTIVES", align: "right" } as const,
  ];
  const rows = [
    ...(fleet === null ? [] : [row("cheapest", fleet)]),
    ...(oneType === null ? [] : [row("cheapest of one type", oneType)]),
  ];
  return [
    ...tableLines(columns, rows, terminal.stdout, paint),
    "",
    `Each replica has one accelerator. ${SIMULATED_S} s of requests were simulated, routed by predicted latency.`,
    ...(unfit.length === 0 ? [] : [`Left out, because one accelerator does not hold the model: ${unfit.join(", ")}.`]),
  ];
}
