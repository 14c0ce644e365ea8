import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type {
  AddMetricSourceOptions,
  MetricSourceOptions,
  MetricTargetOptions,
} from "../metric-source/run-metric-sources.ts";

const nameArgument = { syntax: "<name>", description: "name of the metric source" };

const addCommand = defineCommand<AddMetricSourceOptions>({
  name: "add",
  summary: "Declare a metric source, or replace its declaration",
  details: `The types and their settings: docs/how-to/connect-prometheus.md. A secret is a reference: file:/path or env:NAME, as the control
plane sees it. The declaration is kept in metric-sources.yaml in the state directory of the control plane.

Examples:
  headroom metric-source add scrape dcgm --setting 'address=http://{node}:9400/metrics' --setting pool=h100
  headroom metric-source add scrape nodes --setting 'targets=[{"url":"http://10.0.0.5:9100/metrics","node":"dgx-1"}]'
  headroom metric-source add replicas engines
  headroom metric-source add prometheus site --setting url=http://prometheus:9090 \\
    --setting 'queries=[{"value":"inletC","unit":"°C","query":"ipmi_temperature_celsius","label":"instance"}]'`,
  arguments: [
    {
      syntax: "<type>",
      description: "scrape, replicas, prometheus or remote-write",
      complete: ["scrape", "replicas", "prometheus", "remote-write"],
    },
    nameArgument,
  ],
  options: [
    { flags: "--setting <name=value>", description: "a setting of the type (default: none)", repeatable: true },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { addMetricSource } = await import("../metric-source/run-metric-sources.ts");
    return addMetricSource(context, args, options);
  },
});

const listCommand = defineCommand<MetricSourceOptions>({
  name: "list",
  summary: "List the declared metric sources, with the number of targets that answer",
  options: [{ flags: "--csv", description: "print comma-separated values" }, jsonOption],
  async run(context, { options }) {
    const { listMetricSources } = await import("../metric-source/run-metric-sources.ts");
    return listMetricSources(context, options);
  },
});

const targetsCommand = defineCommand<MetricTargetOptions>({
  name: "targets",
  summary: "List the targets of metric sources, silent ones first",
  details: `A silent target is shown with its problem and since when it does not answer. Nothing is recorded about it meanwhile.

Examples:
  headroom metric-source targets --state silent
  headroom metric-source targets dcgm --csv > targets.csv`,
  arguments: [{ syntax: "[name]", description: "name of the metric source (default: every source)" }],
  options: [
    {
      flags: "--state <state>",
      description: "only targets that are up, silent, waiting or refused (default: every state)",
    },
    { flags: "--limit <n>", description: "maximum number of targets (default: 100)" },
    { flags: "--cursor <cursor>", description: "continue after an earlier page (default: the first page)" },
    { flags: "--csv", description: "print comma-separated values, with instants in ISO 8601" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { listMetricTargets } = await import("../metric-source/run-metric-sources.ts");
    return listMetricTargets(context, args, options);
  },
});

const removeCommand = defineCommand<MetricSourceOptions>({
  name: "remove",
  summary: "Remove the declaration of a metric source; its series stay until they expire",
  arguments: [nameArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { removeMetricSource } = await import("../metric-source/run-metric-sources.ts");
    return removeMetricSource(context, args, options);
  },
});

export const metricSourceCommand = defineCommand({
  name: "metric-source",
  summary: "Declare exporters and other sources of readings, and show which of them answer",
  commands: [addCommand, listCommand, targetsCommand, removeCommand],
  run() {
    return Promise.reject(
      new CliError(
        "metric-source needs a command: headroom metric-source list, add, targets or remove",
        exitCode.usage,
      ),
    );
  },
});
