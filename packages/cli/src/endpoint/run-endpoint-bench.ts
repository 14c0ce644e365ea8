/** `headroom endpoint bench`: a load test of a live endpoint that proposes targets for its scaling. */
import type { LevelResult, Proposal } from "@headroom/benchmark";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { foundEndpoint } from "./run-endpoint.ts";

export interface EndpointBenchOptions {
  readonly gateway?: string;
  readonly prompt?: string;
  readonly output?: string;
  readonly seconds?: string;
  readonly max?: string;
  readonly ttft?: string;
  readonly tpot?: string;
  readonly json?: boolean;
}

const columns = [
  { title: "IN PROGRESS", align: "right" },
  { title: "REQUESTS/S", align: "right" },
  { title: "TOKENS/S", align: "right" },
  { title: "TTFT P95", align: "right" },
  { title: "TPOT P95", align: "right" },
  { title: "FAILED", align: "right" },
  { title: "LEFT", align: "right" },
] as const;

export async function benchEndpoint(
  context: CommandContext,
  name: string,
  options: EndpointBenchOptions,
): Promise<ExitCode> {
  const { isOver, levelsFor, measureLevel, proposedTargets } = await import("@headroom/benchmark");
  const shape = {
    promptWords: wholeIn("--prompt", options.prompt ?? "200", 100_000),
    outputTokens: wholeIn("--output", options.output ?? "64", 100_000),
    seconds: wholeIn("--seconds", options.seconds ?? "10", 600),
  };
  const objectives = { ttftMs: timeIn("--ttft", options.ttft), tpotMs: timeIn("--tpot", options.tpot) };
  const client = await context.connect();
  const endpoint = foundEndpoint((await client.endpoints()).items, name);
  const replicas = endpoint.replicas.ready;
  if (replicas === 0)
    throw new CliError(
      `${endpoint.name} has no ready replica. Start one (headroom set ${endpoint.name} replicas=1) and measure then`,
      exitCode.failed,
    );
  const target = {
    url: options.gateway ?? "http://127.0.0.1:8080",
    key: context.terminal.env["HEADROOM_KEY"] ?? "",
    model: endpoint.model,
  };
  const levels: LevelResult[] = [];
  for (const concurrency of levelsFor(replicas, wholeIn("--max", options.max ?? "64", 4_096))) {
    context.note(`${concurrency} requests in progress for ${shape.seconds} s`);
    levels.push(await measureLevel(target, { concurrency, shape, signal: context.terminal.interrupted }));
    if (context.terminal.interrupted.aborted || isOver(levels, objectives)) break;
  }
  const proposal = proposedTargets(levels, replicas, objectives);
  if (options.json === true) context.print(JSON.stringify({ replicas, levels, proposal }, null, 2));
  else context.print(...tableLines(columns, levels.map(rowOf), context.terminal.stdout, context.paint));
  if (proposal !== null && options.json !== true)
    context.print("", ...proposalLines(proposal, { name: printable(endpoint.name), replicas, objectives }));
  if (proposal !== null) return exitCode.ok;
  context.note(
    levels.every(({ failed, requests }) => failed === requests)
      ? `Every request failed. Is a gateway at ${target.url}, does it serve ${target.model}, and is its key in HEADROOM_KEY?`
      : "No level is within the objectives, so no target is proposed.",
  );
  return exitCode.unsatisfied;
}

const grounds: Readonly<Record<Proposal["ground"], string>> = {
  objectives: "the highest level within the objectives",
  knee: "more requests in progress give hardly more tokens",
  refused: "with more requests in progress some failed or left by the overflow",
  last: "no higher level was measured, and more may be possible: raise --max",
};

function proposalLines(
  { concurrency, level, ground }: Proposal,
  about: {
    readonly name: string;
    readonly replicas: number;
    readonly objectives: { readonly ttftMs: number | null; readonly tpotMs: number | null };
  },
): readonly string[] {
  const { ttftMs, tpotMs } = about.objectives;
  const why = grounds[ground];
  const targets = [
    `concurrency: ${concurrency}`,
    ...(ttftMs === null ? [] : [`ttft: { p95: ${ttftMs}ms }`]),
    ...(tpotMs === null ? [] : [`tpot: { p95: ${tpotMs}ms }`]),
  ];
  return [
    `Measured with ${about.replicas} ready: ${level.concurrency} in progress (${why}), of which 80% for each replica are proposed.`,
    `In the document of ${about.name}:`,
    `  scale: { ${targets.join(", ")} }`,
  ];
}

const rowOf = (level: LevelResult): readonly string[] => [
  String(level.concurrency),
  level.requestsPerSecond.toFixed(1),
  level.tokensPerSecond.toFixed(0),
  level.ttftP95Ms === null ? "-" : `${level.ttftP95Ms.toFixed(0)} ms`,
  level.tpotP95Ms === null ? "-" : `${level.tpotP95Ms.toFixed(1)} ms`,
  String(level.failed),
  String(level.left),
];

function wholeIn(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new CliError(`${flag} takes a whole number from 1 to ${max}, got ${text}`, exitCode.usage);
}

function timeIn(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, amount = "", unit] = /^(\d{1,7}(?:\.\d{1,3})?)(ms|s)$/.exec(text) ?? [];
  if (unit === undefined) throw new CliError(`${flag} takes a time such as 500ms or 2s, got ${text}`, exitCode.usage);
  return Number(amount) * (unit === "s" ? 1000 : 1);
}
