/** `headroom lineage import`: checks OpenLineage events and stores the valid ones. */
import { existsSync } from "node:fs";
import type { LineageEvent } from "@headroom/lineage";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { jsonValues, type FoundValue } from "../input/json-values.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { EventStore } from "./event-store.ts";

export interface LineageImportOptions {
  readonly check?: true;
  readonly json?: true;
}

/** Lines listed in the answer; all are counted. */
const REJECTED_SHOWN_MAX = 10_000;
const WARNINGS_SHOWN_MAX = 1_000;
/** Lines of the table for people. */
const LINES_SHOWN_MAX = 50;

interface Report {
  readonly kinds: Record<LineageEvent["kind"], number>;
  accepted: number;
  rejectedCount: number;
  readonly rejected: { readonly line: number; readonly reason: string }[];
  warningCount: number;
  readonly warnings: { readonly line: number; readonly warning: string }[];
}

export async function runLineageImport(
  context: CommandContext,
  file: string,
  options: LineageImportOptions,
): Promise<ExitCode> {
  const { checkEvent, facetWarnings } = await import("@headroom/lineage");
  const report: Report = {
    kinds: { run: 0, job: 0, dataset: 0 },
    accepted: 0,
    rejectedCount: 0,
    rejected: [],
    warningCount: 0,
    warnings: [],
  };
  // Without a state directory there is no place to store events, and a check must not create one.
  const store = options.check === true || !existsSync(context.home) ? null : new EventStore(context.home);
  const reject = (line: number, reason: string): void => {
    report.rejectedCount += 1;
    if (report.rejected.length < REJECTED_SHOWN_MAX) report.rejected.push({ line, reason });
  };
  const take = (found: FoundValue): void => {
    if ("problem" in found) {
      reject(found.line, found.problem);
      return;
    }
    const verdict = checkEvent(found.value);
    if (verdict.verdict === "rejected") {
      reject(found.line, verdict.reason);
      return;
    }
    report.accepted += 1;
    report.kinds[verdict.kind] += 1;
    for (const warning of facetWarnings(verdict)) {
      report.warningCount += 1;
      if (report.warnings.length < WARNINGS_SHOWN_MAX) report.warnings.push({ line: found.line, warning });
    }
    store?.add(found.text);
  };
  try {
    for await (const values of jsonValues(context, file)) {
      for (const found of values) take(found);
      if (context.terminal.interrupted.aborted) return exitCode.interrupted;
    }
  } finally {
    store?.close();
  }
  printReport(context, report, store?.storedCount ?? null, options);
  return report.accepted === 0 && report.rejectedCount > 0 ? exitCode.failed : exitCode.ok;
}

/** `storedCount`: events that were not stored before; `null`: nothing was stored. */
function printReport(
  context: CommandContext,
  { kinds, accepted, rejected, rejectedCount, warnings, warningCount }: Report,
  storedCount: number | null,
  options: LineageImportOptions,
): void {
  if (options.json === true) {
    const answer = {
      accepted,
      rejected,
      rejected_count: rejectedCount,
      kinds,
      warnings,
      warning_count: warningCount,
      stored: storedCount,
    };
    context.print(JSON.stringify(answer, null, 2));
    return;
  }
  const kindText = `${plural(kinds.run, "run event")}, ${plural(kinds.job, "job event")}, ${plural(kinds.dataset, "dataset event")}`;
  context.print(`${accepted} accepted (${kindText}), ${rejectedCount} rejected, ${plural(warningCount, "warning")}.`);
  const rows = [
    ...rejected.map(({ line, reason }) => [String(line), "rejected", printable(reason)]),
    ...warnings.map(({ line, warning }) => [String(line), "warning", printable(warning)]),
  ];
  const columns = [{ title: "LINE", align: "right" as const }, { title: "VERDICT" }, { title: "REASON", minWidth: 20 }];
  if (rows.length > 0)
    context.print("", ...tableLines(columns, rows.slice(0, LINES_SHOWN_MAX), context.terminal.stdout, context.paint));
  if (rows.length > LINES_SHOWN_MAX)
    context.note(`${rows.length - LINES_SHOWN_MAX} more lines are in the answer with --json.`);
  if (storedCount !== null) context.note(`${plural(storedCount, "new event")} stored in ${context.home}.`);
  else if (options.check !== true)
    context.note(`Nothing was stored, because there is no state directory ${context.home}. Name one with --home DIR.`);
}
