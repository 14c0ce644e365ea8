/** `headroom incident`: failures of one cause, and what people do about them. */
import type { AnnotationRequestInput, Incident, IncidentPhase } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { limitOf } from "../listing-options.ts";
import { instant, plural } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";
import { runbookPairs } from "../output/runbook-pairs.ts";
import { printable } from "../terminal.ts";

export interface ListIncidentsOptions {
  readonly phase?: string;
  readonly limit?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
}

export interface ShowIncidentOptions {
  readonly postmortem?: boolean;
  readonly json?: boolean;
}

const phases = ["open", "recovered", "resolved", "all"] as const;

export async function listIncidents(context: CommandContext, options: ListIncidentsOptions): Promise<ExitCode> {
  const limit = limitOf(options.limit);
  const phase = phaseOption(options.phase ?? "open");
  const client = await context.connect();
  const { items, more } = await allPages((cursor, size) => client.listIncidents({ phase, cursor, limit: size }), limit);
  if (options.json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (options.csv === true) context.print(...csvOf(items));
  else if (items.length === 0) context.note(phase === "open" ? "No incident is open." : "There is no such incident.");
  else {
    const rows = items.map((each) => [
      each.id,
      each.phase,
      instant(each.startedAtMs),
      `${each.nodes.notBack}/${each.nodes.failed}`,
      String(each.work.length),
      printable(each.acknowledgedBy ?? ""),
      printable(each.title),
    ]);
    const titles = [
      { title: "INCIDENT" },
      { title: "PHASE" },
      { title: "SINCE" },
      { title: "NODES AWAY", align: "right" as const },
      { title: "WORK HIT", align: "right" as const },
      { title: "ACKNOWLEDGED" },
      { title: "CAUSE", minWidth: 24 },
    ];
    context.print(...tableLines(titles, rows, context.terminal.stdout, context.paint));
  }
  if (more) context.note(`There are more than ${plural(items.length, "incident")}: use --limit.`);
  return exitCode.ok;
}

function csvOf(items: readonly Incident[]): readonly string[] {
  const titles = ["incident", "phase", "since", "until", "level", "domain", "nodes_away", "nodes_failed", "work_hit"];
  const rows = items.map(({ id, phase, startedAtMs, endedAtMs, domain, nodes, work, acknowledgedBy, title }) => [
    id,
    phase,
    instant(startedAtMs),
    endedAtMs === null ? "" : instant(endedAtMs),
    domain.level,
    domain.path.join("/"),
    nodes.notBack,
    nodes.failed,
    work.length,
    acknowledgedBy ?? "",
    title,
  ]);
  return csvLines([...titles, "acknowledged_by", "cause"], rows);
}

function phaseOption(text: string): IncidentPhase | "all" {
  const phase = phases.find((each) => each === text);
  if (phase === undefined) throw new CliError(`--phase ${text}: choose one of ${phases.join(", ")}`, exitCode.usage);
  return phase;
}

export async function showIncident(
  context: CommandContext,
  id: string,
  { json, postmortem }: ShowIncidentOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const incident = await client.getIncident(id);
  if (json === true) context.print(JSON.stringify(incident, null, 2));
  else if (postmortem === true) {
    const { postmortemText } = await import("@headroom/views/text");
    context.print(...postmortemText(incident, instant).split("\n").map(printable));
  } else printIncident(context, incident);
  return exitCode.ok;
}

function printIncident({ print, paint, terminal }: CommandContext, incident: Incident): void {
  const { id, phase, title, domain, sameNodesAs, nodes, accelerators, work, timeline } = incident;
  const others = sameNodesAs.map(({ level, path }) => `${level} ${path.join("/")}`).join(", ");
  const silenced = incident.silencedUntilMs;
  print(
    ...pairLines(
      [
        ["incident", `${id}, ${phase}`],
        ["cause", printable(title)],
        [
          "domain",
          printable(`${domain.level} ${domain.path.join("/")}${others === "" ? "" : ` (same nodes: ${others})`}`),
        ],
        ["since", instant(incident.startedAtMs)],
        ...(incident.endedAtMs === null ? [] : [["until", instant(incident.endedAtMs)] as const]),
        ["blast radius", `${plural(nodes.inDomain, "node")}, ${plural(accelerators.inDomain, "accelerator")}`],
        ["failed", `${plural(nodes.failed, "node")}, ${nodes.notBack} not back`],
        ["alerts", String(incident.alerts)],
        ...(incident.codes.length === 0 ? [] : [["faults", incident.codes.join(", ")] as const]),
        ...(incident.acknowledgedBy === null ? [] : [["acknowledged", printable(incident.acknowledgedBy)] as const]),
        ...(silenced === null ? [] : [["silenced until", instant(silenced)] as const]),
        ["next", printable(incident.advice)],
        ...runbookPairs(incident.runbooks),
      ],
      paint,
    ),
  );
  if (work.length > 0) {
    const rows = work.map((each) => [
      each.workloadId,
      printable(each.name),
      printable(each.team),
      String(each.workers),
      String(each.accelerators),
    ]);
    const titles = [
      { title: "WORKLOAD" },
      { title: "NAME", minWidth: 8 },
      { title: "TEAM" },
      { title: "WORKERS", align: "right" as const },
      { title: "ACCELERATORS", align: "right" as const },
    ];
    print("", ...tableLines(titles, rows, terminal.stdout, paint));
  }
  print(
    "",
    ...timeline.map(({ atMs, text, actor }) =>
      printable(`${instant(atMs)}  ${text}${actor === undefined ? "" : ` (${actor})`}`),
    ),
  );
}

export async function annotate(
  context: CommandContext,
  id: string,
  annotation: AnnotationRequestInput,
): Promise<ExitCode> {
  const client = await context.connect();
  const { id: known, phase, title } = await client.annotateIncident(id, annotation);
  context.print(`Incident ${known} (${phase}): ${printable(title)}`);
  return exitCode.ok;
}
