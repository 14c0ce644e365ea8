/** `headroom health hours`: allocated accelerator-hours by cause. */
import type { CauseHours, QueryFor } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { instantOption, oneOf } from "../usage/run-usage.ts";

export interface HealthHoursOptions {
  readonly group?: string;
  readonly since?: string;
  readonly until?: string;
  readonly csv?: true;
  readonly json?: true;
}

type Group = NonNullable<QueryFor<"causeHours">["group"]>;
const groups: readonly Group[] = ["team", "pool", "acceleratorType", "workload", "workloadKind"];

export async function runHealthHours(context: CommandContext, options: HealthHoursOptions): Promise<ExitCode> {
  const group = options.group === undefined ? undefined : oneOf(options.group, groups, "--group");
  const fromMs = instantOption(options.since, "--since");
  const toMs = instantOption(options.until, "--until");
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs)
    throw new CliError("--since must be before --until", exitCode.usage);
  const client = await context.connect();
  const hours = await client.causeHours({
    ...(group === undefined ? {} : { group }),
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  });
  if (options.json === true) context.print(JSON.stringify(hours, null, 2));
  else if (options.csv === true) context.print(...csvRows(hours));
  else printTable(context, hours);
  for (const problem of hours.problems) context.note(`warning: ${printable(problem)}`);
  return exitCode.ok;
}

function csvRows({ group, items, total, unallocated }: CauseHours): readonly string[] {
  const lines = group === null ? [total] : items;
  return csvLines(
    [group ?? "group", "cause", "accelerator_ms", "hours"],
    [
      ...lines.flatMap((line) =>
        line.causes.map(({ cause, acceleratorMs, hours }) => [line.group, cause, acceleratorMs, hours]),
      ),
      ...unallocated.map(({ reason, acceleratorMs, hours }) => ["", `unallocated: ${reason}`, acceleratorMs, hours]),
    ],
  );
}

function printTable(context: CommandContext, hours: CauseHours): void {
  const { group, items, total, unallocated, attempts, measuredAttempts } = hours;
  const { print, paint, terminal } = context;
  if (items.length === 0 && unallocated.length === 0) {
    context.note("No accelerator was allocated in this period.");
    return;
  }
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const shown = total.causes.filter(({ acceleratorMs }) => acceleratorMs !== "0").map(({ cause }) => cause);
  const lines = group === null ? [total] : [...items, total];
  const rows = lines.map((line) => [
    line === total ? "all" : printable(line.group === "" ? "-" : line.group),
    line.allocated.hours.toFixed(3),
    ...shown.map((cause) => (line.causes.find((each) => each.cause === cause)?.hours ?? 0).toFixed(3)),
  ]);
  const columns = [
    { title: (group ?? "hours").toUpperCase() },
    right("ALLOCATED"),
    ...shown.map((cause) => right(cause.toUpperCase())),
  ];
  print(...tableLines(columns, rows, terminal.stdout, paint));
  const free = unallocated.map(({ reason, hours: of }) => `${reason} ${of.toFixed(3)}`).join(", ");
  if (free !== "") print("", `not allocated: ${printable(free)}`);
  if (measuredAttempts < attempts)
    context.note(
      `${attempts - measuredAttempts} of ${attempts} attempts report no parts of their steps: their used time is unmeasured. docs/how-to/see-hours-by-cause.md`,
    );
}
