import { appendFile, writeFile } from "node:fs/promises";
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

interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly isWhole?: true;
}

function numberOption(flag: string, text: string, { min, max, isWhole }: NumberRange): number {
  const value = Number(text);
  if (value >= min && value <= max && (isWhole !== true || Number.isInteger(value))) return value;
  throw new CliError(`${flag} takes a ${isWhole === true ? "whole " : ""}number from ${min} to ${max}`, exitCode.usage);
}

export const benchCommand = defineCommand<BenchCommandOptions>({
  name: "bench",
  summary: "Measure the gateway beside other proxies on this machine",
  details: `Measures gateways and proxies under load, one after another. Each runs on a separate core, in front of a mock of an OpenAI-compatible engine:
  headroom bench                                     all installed targets, all cases
  headroom bench --case small --case latency --rounds 5
  headroom bench --target direct --target haproxy --target headroom --frontier --html report.html`,
  options: [
    {
      flags: "--target <name>",
      description: `gateways to measure: ${targets.join(", ")}, or NAME=PORT for a proxy that already runs (default: all)`,
      repeatable: true,
      complete: targets,
    },
    {
      flags: "--case <name>",
      description: "cases to measure: small, prompt-32k, prompt-220k, latency, rate, streams (default: all)",
      repeatable: true,
      complete: ["small", "prompt-32k", "prompt-220k", "latency", "rate", "streams"],
    },
    {
      flags: "--rounds <count>",
      description: "number of rounds; in each round every target is measured once (default: 3)",
    },
    { flags: "--seconds <count>", description: "duration of one measurement in seconds (default: 4)" },
    {
      flags: "--frontier",
      description: "also measure the highest request rates whose p99 latency stays below bounds from 1 to 100 ms",
    },
    {
      flags: "--portkey <folder>",
      description: "directory in which npm install @portkey-ai/gateway was run (default: none)",
      complete: "file",
    },
    { flags: "--html <file>", description: "write the report to this HTML file (default: none)", complete: "file" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { cases, htmlReport, isFailed, isTargetName, rowsOf, runBenchmark, targetNames, textReport } =
      await import("@headroom/benchmark");
    const known = cases.map(({ name }) => name);
    const chosen = options.case ?? known;
    const unknown = chosen.find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw new CliError(`there is no case ${unknown}; the cases are ${known.join(", ")}`, exitCode.usage);
    const unknownTarget = options.target?.find((name) => !isTargetName(name));
    if (unknownTarget !== undefined)
      throw new CliError(
        `there is no target ${unknownTarget}; the targets are ${targetNames.join(", ")}, or NAME=PORT`,
        exitCode.usage,
      );
    const { workingDirectory, interrupted } = context.terminal;
    const html = options.html === undefined ? null : path.resolve(workingDirectory, options.html);
    // A file that cannot be written is reported before the measurements, not after them.
    if (html !== null)
      await appendFile(html, "").catch((error: Error) => {
        throw new CliError(`--html: ${error.message}`, exitCode.usage);
      });
    const report = await runBenchmark({
      targets: options.target ?? targetNames,
      cases: chosen,
      rounds: numberOption("--rounds", options.rounds ?? "3", { min: 1, max: 100, isWhole: true }),
      secondsPerRun: numberOption("--seconds", options.seconds ?? "4", { min: 0.2, max: 600 }),
      withFrontier: options.frontier === true,
      headroom: [process.execPath, process.argv[1] ?? ""],
      portkeyDirectory: options.portkey === undefined ? undefined : path.resolve(workingDirectory, options.portkey),
      signal: interrupted,
      note: (line) => context.note(line),
    });
    if (html !== null) await writeFile(html, htmlReport(report));
    if (options.json === true) {
      const summaries = report.cases.map((each) => ({ ...each, summary: rowsOf(each) }));
      context.print(JSON.stringify({ ...report, cases: summaries }, null, 2));
    } else context.print(...textReport(report));
    return isFailed(report) ? exitCode.failed : exitCode.ok;
  },
});
