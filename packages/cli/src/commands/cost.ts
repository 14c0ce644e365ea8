import type { ComponentsOptions } from "../cost/run-tco.ts";
import type { ReportOptions } from "../cost/run-report.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { ExportOptions } from "../cost/run-export.ts";
import { sourceOptions } from "../cost/source-options.ts";

const groupNames = "team, user, workload, workloadKind, pool, node, acceleratorType, state, cause, source, price";

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
    {
      flags: "--focus <directory>",
      description: "folder for focus.csv and focus.parquet (required)",
      complete: "file",
    },
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

const reportCommand = defineCommand<ReportOptions>({
  name: "report",
  summary: "Add up costs by team, workload, pool or cause, with the cost of failures and of idle time",
  details: `Examples:
  headroom cost report --group team,state --by month
  headroom cost report --group pool,cause --csv
  headroom cost report --month 2026-10 --with-focus cloud-invoice.csv`,
  options: [
    { flags: "--group <fields>", description: `with commas: ${groupNames} (default: team)` },
    {
      flags: "--by <period>",
      description: "day, week, month or all (default: month)",
      complete: ["day", "week", "month", "all"],
    },
    { flags: "--team <team>", description: "only this team, with the teams below it", complete: "team" },
    {
      flags: "--with-focus <file>",
      description: "add the FOCUS file of a provider; repeatable (default: none)",
      complete: "file",
      repeatable: true,
    },
    { flags: "--anomalies", description: "list days on which a group cost far more or less than usual" },
    { flags: "--changes", description: "compare the last period with the one before it, the largest change first" },
    ...sourceOptions,
    { flags: "--csv", description: "print comma-separated values" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runReport } = await import("../cost/run-report.ts");
    return runReport(context, options);
  },
});

const componentsCommand = defineCommand<ComponentsOptions>({
  name: "components",
  summary: "Say what a month costs by component, from price documents",
  details: "Example:\n  headroom cost components --prices examples/cost/eight-h100.yaml --month 2026-10",
  options: [
    {
      flags: "--prices <file>",
      description: "file or directory of price documents; repeatable (required)",
      complete: "file",
      repeatable: true,
    },
    { flags: "--month <month>", description: "the month (UTC): 2026-10 (required)" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runComponents } = await import("../cost/run-tco.ts");
    return runComponents(context, options);
  },
});

const tcoFile = {
  syntax: "<file>",
  description: "document of kind tco (docs/how-to/know-what-it-costs.md)",
  complete: "file",
} as const;

const tcoCommand = defineCommand<{ readonly json?: true }>({
  name: "tco",
  summary: "Compute the total cost of ownership by part, with the effect of each assumption",
  arguments: [tcoFile],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runTco } = await import("../cost/run-tco.ts");
    return runTco(context, args[0] ?? "", options);
  },
});

const compareCommand = defineCommand<{ readonly json?: true }>({
  name: "compare",
  summary: "Compare owning, leasing and renting: price of a useful hour, break-even utilisation",
  arguments: [tcoFile],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runCompare } = await import("../cost/run-tco.ts");
    return runCompare(context, args[0] ?? "", options);
  },
});

export const costCommand = defineCommand<ReportOptions>({
  name: "cost",
  summary: "Say what the fleet costs and who pays: reports, FOCUS exports, total cost of ownership",
  details: "Without a command: the report by team and month.",
  commands: [reportCommand, exportCommand, evaluateCommand, componentsCommand, tcoCommand, compareCommand],
  async run(context, { options }) {
    const { runReport } = await import("../cost/run-report.ts");
    return runReport(context, options);
  },
});
