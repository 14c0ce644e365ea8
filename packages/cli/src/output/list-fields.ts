/** Columns of `list` and `history` that users choose by name. */
import type { WorkloadSummary } from "@headroom/protocol";
import { hoursText } from "@headroom/views/text";
import { CliError, exitCode } from "../cli-error.ts";
import { instant, shortDuration } from "./amounts.ts";
import { gangText, phaseCell, progressText } from "./workload-text.ts";
import { csvLines } from "./csv.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import type { CommandContext } from "../command.ts";

export interface ListField {
  readonly column: Column;
  /** The cell of the table. */
  readonly cell: (workload: WorkloadSummary, nowMs: number) => Cell | string;
  /** The value in CSV, without units. */
  readonly value: (workload: WorkloadSummary, nowMs: number) => string | number;
}

const HOUR_MS = 3_600_000;

/** Run time: from the first start to the end, or to now. */
export const elapsedMs = ({ firstStartedAtMs, endedAtMs }: WorkloadSummary, nowMs: number): number =>
  firstStartedAtMs === null ? 0 : Math.max(0, (endedAtMs ?? nowMs) - firstStartedAtMs);

export const acceleratorHours = ({ acceleratorMs }: WorkloadSummary): number => acceleratorMs / HOUR_MS;

function exitText({ phase, lastAttempt }: WorkloadSummary): string {
  const exit = lastAttempt?.exit ?? null;
  // No single exit decides a success: every worker exited with 0.
  if (exit === null) return phase === "succeeded" ? "0" : "";
  return exit.kind === "exited" ? String(exit.code) : exit.signal;
}

const nodesOf = ({ nodes, lastAttempt }: WorkloadSummary): string =>
  (nodes.length > 0 ? nodes : (lastAttempt?.nodes ?? [])).join(" ");
const instantText = (atMs: number | null): string => (atMs === null ? "" : instant(atMs));

type Text = (workload: WorkloadSummary, nowMs: number) => string;

const textField = (title: string, text: Text, more: Partial<Column> = {}): ListField => ({
  column: { title, ...more },
  cell: text,
  value: text,
});

const right = { align: "right" } as const;

const listFields: Readonly<Record<string, ListField>> = {
  id: textField("ID", ({ id }) => id),
  name: {
    column: { title: "NAME", minWidth: 8 },
    cell: ({ name }) => ({ text: name, tone: "bold" }),
    value: ({ name }) => name,
  },
  team: textField("TEAM", ({ team }) => team, { minWidth: 6 }),
  user: textField("USER", ({ actor }) => actor, { minWidth: 4 }),
  kind: textField("KIND", ({ kind }) => kind),
  phase: { column: { title: "PHASE" }, cell: phaseCell, value: ({ phase }) => phase },
  gang: textField("GANG", gangText, { minWidth: 8 }),
  progress: textField("PROGRESS", progressText, { minWidth: 6 }),
  age: {
    column: { title: "AGE", ...right },
    cell: ({ submittedAtMs }, nowMs) => shortDuration(nowMs - submittedAtMs),
    value: ({ submittedAtMs }, nowMs) => Math.floor((nowMs - submittedAtMs) / 1_000),
  },
  priority: {
    column: { title: "PRIORITY", ...right },
    cell: ({ priority }) => String(priority),
    value: ({ priority }) => priority,
  },
  nodes: textField("NODES", nodesOf, { minWidth: 6 }),
  submitted: textField("SUBMITTED", ({ submittedAtMs }) => instantText(submittedAtMs)),
  started: textField("STARTED", ({ firstStartedAtMs }) => instantText(firstStartedAtMs)),
  ended: textField("ENDED", ({ endedAtMs }) => instantText(endedAtMs)),
  elapsed: {
    column: { title: "ELAPSED", ...right },
    cell: (workload, nowMs) => shortDuration(elapsedMs(workload, nowMs)),
    value: (workload, nowMs) => Math.round(elapsedMs(workload, nowMs) / 1_000),
  },
  exit: textField("EXIT", exitText, right),
  hours: {
    column: { title: "ACCELERATOR-HOURS", ...right },
    cell: (workload) => hoursText(acceleratorHours(workload)),
    value: (workload) => Number(acceleratorHours(workload).toFixed(6)),
  },
  reason: textField("REASON", ({ endSentence }) => endSentence ?? "", { minWidth: 10 }),
};

export const fieldNames: readonly string[] = Object.keys(listFields);

/** The fields that `--format` names, in its order. */
export function fieldsOf(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim().toLowerCase());
  const unknown = names.find((name) => !Object.hasOwn(listFields, name));
  if (unknown !== undefined)
    throw new CliError(`--format names fields of ${fieldNames.join(", ")}, got ${unknown}`, exitCode.usage);
  return names;
}

/** Prints the workloads with these fields. */
export function printFields(
  context: CommandContext,
  items: readonly WorkloadSummary[],
  { names, csv }: { readonly names: readonly string[]; readonly csv: boolean },
): void {
  const fields = names.flatMap((name) => listFields[name] ?? []);
  const nowMs = Date.now();
  if (csv) {
    context.print(
      ...csvLines(
        names,
        items.map((item) => fields.map(({ value }) => value(item, nowMs))),
      ),
    );
    return;
  }
  const rows = items.map((item) => fields.map(({ cell }) => cell(item, nowMs)));
  context.print(
    ...tableLines(
      fields.map(({ column }) => column),
      rows,
      context.terminal.stdout,
      context.paint,
    ),
  );
}
