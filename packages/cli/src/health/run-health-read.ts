/** `headroom health read`: shows the faults in a log. */
import type { Fault } from "@headroom/health";
import type { FaultReportInput } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileLines } from "../input/file-lines.ts";
import type { Tone } from "../output/style.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";

export interface HealthReadOptions {
  readonly json?: true;
  /** Node for which the faults are reported. */
  readonly report?: string;
}

interface Finding extends Fault {
  readonly line: number;
  readonly text: string;
}

/** Faults in the table for people, which is aligned as a whole. */
const SHOWN_MAX = 10_000;
const TEXT_MAX = 400;
/** Maximum number of different faults in one report. */
const REPORTED_MAX = 100;
const tones: Readonly<Record<Fault["severity"], Tone>> = { info: "dim", warning: "yellow", critical: "red" };

export async function runHealthRead(
  context: CommandContext,
  file: string,
  options: HealthReadOptions,
): Promise<ExitCode> {
  const { readFault } = await import("@headroom/health");
  const { terminal, print } = context;
  const isJson = options.json === true;
  const shown: Finding[] = [];
  const reported: Reported = new Map();
  const counts = { info: 0, warning: 0, critical: 0 };
  let count = 0;
  for await (const lines of fileLines(context, file)) {
    for (const { number, text } of lines) {
      const fault = readFault(text);
      if (fault === null) continue;
      const { code, device, severity, action, summary } = fault;
      const finding = { code, device, severity, line: number, action, summary, text: text.trim().slice(0, TEXT_MAX) };
      if (isJson) terminal.stdout.write(`${count === 0 ? "[" : ","}\n  ${JSON.stringify(finding)}`);
      else if (shown.length < SHOWN_MAX) shown.push(finding);
      const key = JSON.stringify([code, device]);
      if (options.report !== undefined && reported.size < REPORTED_MAX)
        reported.set(key, {
          code,
          severity,
          detail: adviceText(summary, action),
          ...(device === null ? {} : { device }),
        });
      counts[severity] += 1;
      count += 1;
    }
    await terminal.stdout.drained();
    if (terminal.interrupted.aborted) return exitCode.interrupted;
  }
  if (options.report !== undefined) await report(context, options.report, reported);
  if (isJson) terminal.stdout.write(count === 0 ? "[]\n" : "\n]\n");
  else {
    printTable(context, shown);
    print(`${counts.critical} critical, ${counts.warning} warnings, ${counts.info} for information`);
    if (count > shown.length) print(`${count - shown.length} more are in the answer with --json`);
  }
  return exitCode.ok;
}

/** The action that the vendor documents stands beside the fault in the incident. */
const adviceText = (summary: string, action: Fault["action"]): string =>
  action === "none" ? summary : `${summary}; advised: ${action.replaceAll("-", " ")}`;

type Reported = Map<string, FaultReportInput["faults"][number]>;

async function report(context: CommandContext, node: string, reported: Reported): Promise<void> {
  if (reported.size === 0) return;
  const client = await context.connect();
  await client.reportFaults(node, { faults: [...reported.values()] });
  context.note(`Reported ${plural(reported.size, "fault")} of node ${node}.`);
}

function printTable({ terminal, paint, print }: CommandContext, findings: readonly Finding[]): void {
  if (findings.length === 0) return;
  const columns = [
    { title: "LINE", align: "right" as const },
    { title: "CODE" },
    { title: "DEVICE" },
    { title: "SEVERITY" },
    { title: "ACTION" },
    { title: "MEANING", minWidth: 20 },
  ];
  const rows = findings.map(({ line, code, device, severity, action, summary }) => [
    String(line),
    code,
    device ?? "-",
    { text: severity, tone: tones[severity] },
    action,
    summary,
  ]);
  print(...tableLines(columns, rows, terminal.stdout, paint), "");
}
