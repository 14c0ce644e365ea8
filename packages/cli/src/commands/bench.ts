import { writeFile } from "node:fs/promises";
import path from "node:path";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";

interface BenchCommandOptions {
  readonly target?: readonly string[];
  readonly case?: readonly string[];
  readonly rounds?: string;
  readonly seconds?: string;
  readonly frontier?: boolean;
  readonly portkey?: string;
  readonly html?: string;
  readonly json?: boolean;
}

const targets = ["direct", "relay", "haproxy", "nginx", "portkey", "headroom", "headroom-governed"];

function numberOption(flag: string, text: string, range: { readonly min: number; readonly max: number }): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= range.min && value <= range.max) return value;
  throw new CliError(`${flag} takes a number from ${range.min} to ${range.max}`, exitCode.usage);
}

export const benchCommand = defineCommand<BenchCommandOptions>({
  name: "bench",
  summary: "Measure the gateway beside other proxies on this machine",
  details: `Starts a mock of an OpenAI-compatible engine and each target in turn on a separate core, and measures them under load:
  headroom bench                                     all installed targets, all cases
  headroom bench --case small --case latency --rounds 5
  headroom bench --target direct --target haproxy --target headroom --frontier --html report.html`,
  options: [
    {
      flags: "--target <name>",
      description: `${targets.join(", ")}, or NAME=PORT for a proxy that runs already (default: all)`,
      repeatable: true,
      complete: targets,
    },
    {
      flags: "--case <name>",
      description: "small, prompt-32k, prompt-220k, latency, rate, streams (default: all)",
      repeatable: true,
      complete: ["small", "prompt-32k", "prompt-220k", "latency", "rate", "streams"],
    },
    {
      flags: "--rounds <count>",
      description: "rounds; each measures every target once (default: 3)",
    },
    { flags: "--seconds <count>", description: "measured time of one run (default: 4)" },
    {
      flags: "--frontier",
      description: "also the highest rates at p99 bounds of 1 to 100 ms",
    },
    {
      flags: "--portkey <folder>",
      description: "where npm install @portkey-ai/gateway was run",
      complete: "file",
    },
    { flags: "--html <file>", description: "write the report as a page", complete: "file" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { cases, htmlReport, rowsOf, runBenchmark, targetNames, textReport } = await import("@headroom/benchmark");
    const known = cases.map(({ name }) => name);
    const chosen = options.case ?? known;
    const unknown = chosen.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new CliError(`no case ${unknown}: there are ${known.join(", ")}`, exitCode.usage);
    const { workingDirectory, interrupted } = context.terminal;
    const report = await runBenchmark({
      targets: options.target ?? targetNames,
      cases: chosen,
      rounds: numberOption("--rounds", options.rounds ?? "3", { min: 1, max: 100 }),
      secondsPerRun: numberOption("--seconds", options.seconds ?? "4", { min: 0.2, max: 600 }),
      withFrontier: options.frontier === true,
      headroom: [process.execPath, process.argv[1] ?? ""],
      portkeyDirectory: options.portkey === undefined ? undefined : path.resolve(workingDirectory, options.portkey),
      signal: interrupted,
      note: (line) => context.note(line),
    });
    if (options.html !== undefined) await writeFile(path.resolve(workingDirectory, options.html), htmlReport(report));
    if (options.json === true) {
      const summaries = report.cases.map((each) => ({ ...each, summary: rowsOf(each) }));
      context.print(JSON.stringify({ ...report, cases: summaries }, null, 2));
    } else context.print(...textReport(report));
    const failed = report.cases.some((each) => each.runs.some(({ result }) => result.failed > 0));
    return failed ? exitCode.failed : exitCode.ok;
  },
});
