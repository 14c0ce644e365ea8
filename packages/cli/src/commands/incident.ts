import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { limitOption } from "../listing-options.ts";
import type { ListIncidentsOptions, ShowIncidentOptions } from "../incident/run-incident.ts";

const idArgument = { syntax: "<incident>", description: "id of the incident, like i4711" } as const;

const listSubcommand = defineCommand<ListIncidentsOptions>({
  name: "list",
  summary: "List incidents, the newest first",
  options: [
    { flags: "--phase <phase>", description: "open, recovered, resolved or all (default: open)" },
    limitOption,
    { flags: "--csv", description: "print comma-separated values" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { listIncidents } = await import("../incident/run-incident.ts");
    return listIncidents(context, options);
  },
});

const showSubcommand = defineCommand<ShowIncidentOptions>({
  name: "show",
  summary: "Show an incident: its domain, blast radius, the work it hit and its timeline",
  arguments: [idArgument],
  options: [
    { flags: "--postmortem", description: "print the page for the review afterwards, as Markdown" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { showIncident } = await import("../incident/run-incident.ts");
    return showIncident(context, args[0] ?? "", options);
  },
});

const acknowledgeSubcommand = defineCommand<object>({
  name: "acknowledge",
  summary: "Record that somebody works on the incident",
  arguments: [idArgument],
  async run(context, { args }) {
    const { annotate } = await import("../incident/run-incident.ts");
    return annotate(context, args[0] ?? "", { kind: "acknowledge" });
  },
});

const silenceSubcommand = defineCommand<{ readonly for?: string }>({
  name: "silence",
  summary: "Send no messages about the incident for some time",
  arguments: [idArgument],
  options: [{ flags: "--for <duration>", description: "duration, like 2h or 1d (required)" }],
  async run(context, { args, options }) {
    const { DURATION_MS_MAX, readDuration } = await import("@headroom/protocol");
    const duration = readDuration(options.for ?? "", { min: 1, max: DURATION_MS_MAX });
    if (!duration.ok) throw new CliError(`--for: ${duration.message}`, exitCode.usage);
    const { annotate } = await import("../incident/run-incident.ts");
    return annotate(context, args[0] ?? "", { kind: "silence", forMs: duration.value });
  },
});

const resolveSubcommand = defineCommand<object>({
  name: "resolve",
  summary: "Close the incident, also if nodes are not back",
  arguments: [idArgument],
  async run(context, { args }) {
    const { annotate } = await import("../incident/run-incident.ts");
    return annotate(context, args[0] ?? "", { kind: "resolve" });
  },
});

const noteSubcommand = defineCommand<object>({
  name: "note",
  summary: "Write a note into the timeline of the incident",
  arguments: [idArgument, { syntax: "<text>", description: "the note" }],
  async run(context, { args }) {
    const { annotate } = await import("../incident/run-incident.ts");
    return annotate(context, args[0] ?? "", { kind: "note", text: args[1] ?? "" });
  },
});

export const incidentCommand = defineCommand({
  name: "incident",
  summary: "Failures of one cause: one lost switch is one incident",
  commands: [
    listSubcommand,
    showSubcommand,
    acknowledgeSubcommand,
    silenceSubcommand,
    resolveSubcommand,
    noteSubcommand,
  ],
  run() {
    return Promise.reject(new CliError("incident needs a command: headroom incident list", exitCode.usage));
  },
});
