/**
 * `headroom why WORKLOAD --attempt N`: explains the decision about one attempt, its preemption ground, and the shares
 * of both teams.
 */
import type { HeadroomClient, WorkloadHistory, WorkloadSummary } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import type { CommandContext } from "./command.ts";
import { instant } from "./output/amounts.ts";
import { withProgress } from "./output/progress.ts";
import { pairLines, tableLines } from "./output/table.ts";
import { printable } from "./terminal.ts";

const columns = [
  { title: "SIDE" },
  { title: "TEAM", minWidth: 6 },
  { title: "WHO", minWidth: 6 },
  { title: "BEFORE", align: "right" as const },
  { title: "AFTER", align: "right" as const },
  { title: "RIGHT", minWidth: 10 },
];

/** `text`: the id of an attempt, or the number of an attempt of the task; absent: the newest one of the task. */
export async function decisionsAbout(
  client: HeadroomClient,
  { id, name }: Pick<WorkloadSummary, "id" | "name">,
  {
    text,
    task,
    context,
  }: { readonly text: string | undefined; readonly task: number; readonly context: CommandContext },
): Promise<WorkloadHistory> {
  const past = await withProgress(context.terminal.stderr, "Reading the events", client.workloadHistory(id));
  const own = past.attempts.filter((attempt) => attempt.task === task);
  const meant =
    text === undefined
      ? own.at(-1)
      : (past.attempts.find(({ id: attemptId }) => attemptId === text) ??
        own.find((attempt) => String(attempt.number) === text));
  if (meant === undefined) {
    const known = past.attempts.map((attempt) => attempt.id);
    const some = known.length === 0 ? "it has had no attempt" : `there are ${known.slice(-10).join(", ")}`;
    throw new CliError(
      `${printable(name)} has no attempt ${printable(text ?? `of task ${task}`)}: ${some}`,
      exitCode.failed,
    );
  }
  const items = past.items.filter(({ attemptIds }) => attemptIds.includes(meant.id));
  return { ...past, items, attempts: [meant] };
}

export async function printDecisions(
  context: CommandContext,
  { id, name }: Pick<WorkloadSummary, "id" | "name">,
  { items, attempts, isCut }: WorkloadHistory,
): Promise<void> {
  const { teamSharesOf } = await import("@headroom/views");
  const { paint, terminal } = context;
  context.print(`${paint("bold", name)} (${id}), attempt ${attempts[0]?.id ?? ""}:`);
  for (const { atMs, sentence, plan } of items) {
    context.print(...pairLines([[instant(atMs), sentence]], paint));
    if (plan === undefined) continue;
    const rows = teamSharesOf(plan).map(({ side, team, who, before, after, ground }) => [
      side,
      team,
      who,
      before,
      after,
      ground,
    ]);
    context.print(...tableLines(columns, rows, terminal.stdout, paint).map((line) => `    ${line}`));
  }
  if (isCut) context.note("The oldest events are no longer available; this is the newest part.");
}
