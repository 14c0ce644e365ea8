import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { ExportOptions } from "../cost/run-export.ts";
import { sourceOptions } from "../cost/source-options.ts";

const exportCommand = defineCommand<ExportOptions>({
  name: "export",
  summary: "Write the bill as FOCUS 1.2 files, CSV and Parquet",
  details: `Capacity that is owned, leased or reserved is a commitment: its purchase is billed by the month, and each hour of it is used or unused.
Columns that begin with x_ add the accelerator model, hours, energy, the workload and the reason of idle time.

Examples:
  headroom cost export --focus out --demo
  headroom cost export --focus out --state .headroom --prices prices/ --month 2026-10
  headroom cost export --focus out --rows rows.csv --prices prices.yaml`,
  options: [
    { flags: "--focus <directory>", description: "folder for focus.csv and focus.parquet", complete: "file" },
    ...sourceOptions,
    jsonOption,
  ],
  async run(context, { options }) {
    const { runExport } = await import("../cost/run-export.ts");
    return runExport(context, options);
  },
});

const evaluateCommand = defineCommand<{ readonly json?: true }>({
  name: "evaluate",
  summary: "Check a FOCUS 1.2 file (CSV or Parquet) against the requirements",
  arguments: [{ syntax: "<file>", description: "a .csv or .parquet file", complete: "file" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runEvaluate } = await import("../cost/run-export.ts");
    return runEvaluate(context, args[0] ?? "", options);
  },
});

export const costCommand = defineCommand({
  name: "cost",
  summary: "Say what the fleet costs and who pays: reports, FOCUS exports, total cost of ownership",
  commands: [exportCommand, evaluateCommand],
  run() {
    return Promise.reject(new CliError("cost needs a command: headroom cost export --focus DIR", exitCode.usage));
  },
});
