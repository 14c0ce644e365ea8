import { defineCommand, jsonOption } from "../command.ts";
import type { LineageExportOptions } from "../lineage/run-lineage-export.ts";
import type { LineageImportOptions } from "../lineage/run-lineage-import.ts";
import type { LineageOptions } from "../lineage/run-lineage.ts";

const importCommand = defineCommand<LineageImportOptions>({
  name: "import",
  summary: "Check OpenLineage events and store the valid ones",
  details: `FILE has run, job and dataset events of OpenLineage: one in each line, or a JSON array. - reads the standard input. Events that
do not match the published schema are listed with line and reason. An event is stored once, in lineage.db of the state directory.

Examples:
  headroom lineage import events.jsonl
  headroom lineage import events.json --check --json`,
  arguments: [{ syntax: "<file>", description: "file of events; -: standard input", complete: "file" }],
  options: [{ flags: "--check", description: "only check the events, and store nothing" }, jsonOption],
  async run(context, { args, options }) {
    const { runLineageImport } = await import("../lineage/run-lineage-import.ts");
    return runLineageImport(context, args[0] ?? "", options);
  },
});

const exportCommand = defineCommand<LineageExportOptions>({
  name: "export",
  summary: "Print the history of the control plane as OpenLineage events",
  details: `Reads the journal of the state directory (--home). Each attempt is a run; artifacts, checkpoints and data sets are its datasets.
Environment variables are left out, because they can contain secrets; command lines are part of the events.

Example:
  headroom lineage export > events.jsonl`,
  options: [{ flags: "--namespace <name>", description: "namespace of jobs and data sets (default: headroom)" }],
  async run(context, { options }) {
    const { runLineageExport } = await import("../lineage/run-lineage-export.ts");
    return runLineageExport(context, options);
  },
});

export const lineageCommand = defineCommand<LineageOptions>({
  name: "lineage",
  summary: "Show where data and models come from, and what was made with them",
  details: `NAME is a dataset, model, job, run id or code: its whole name, the last part of its path, NAME@VERSION, or the name of an artifact.
Reads the journal of the state directory and the imported events. Steps before NAME have negative numbers.
A registered artifact (model:chat@3) is walked over the registry of the control plane. A request of a gateway (request:ID, its
x-request-id) is followed over the replica that answered it to its model and the training data.

Examples:
  headroom lineage model:chat@3
  headroom lineage request:gw1-1-8f --config gateway.yaml
  headroom lineage chat-model
  headroom lineage s3://corpus/v6 --down --json
  headroom lineage orders --file events.jsonl --up`,
  arguments: [{ syntax: "<name>", description: "name of a dataset, model, job, run, code or request" }],
  options: [
    { flags: "--up", description: "only what it was made from" },
    { flags: "--down", description: "only what was made with it" },
    { flags: "--depth <steps>", description: "at most this many steps away (default: all)" },
    {
      flags: "--file <path>",
      description: "also read OpenLineage events of this file; can be repeated (default: none)",
      repeatable: true,
      complete: "file",
    },
    {
      flags: "--config <file>",
      description: "of a request: configuration of its gateway (default: gateway.yaml)",
      complete: "file",
    },
    { flags: "--admin <url>", description: "of a request: admin address of its gateway (default: the configured one)" },
    {
      flags: "--admin-token <file>",
      description: "of a request: file with the token of --admin (default: $HEADROOM_GATEWAY_TOKEN)",
      complete: "file",
    },
    jsonOption,
  ],
  commands: [importCommand, exportCommand],
  async run(context, { args, options }) {
    const { runLineage } = await import("../lineage/run-lineage.ts");
    return runLineage(context, args[0] ?? "", options);
  },
});
