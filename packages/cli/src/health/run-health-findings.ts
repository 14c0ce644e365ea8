/** `headroom health findings`: what a change of the fleet answers, with the proposals that were made of it. */
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { instant } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { runbookPairs } from "../output/runbook-pairs.ts";
import { printable } from "../terminal.ts";

export interface HealthFindingsOptions {
  readonly csv?: boolean;
  readonly json?: boolean;
}

export async function runHealthFindings(
  context: CommandContext,
  { csv, json }: HealthFindingsOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.listFindings();
  const { print, paint, terminal } = context;
  const groundOf = (ground: (typeof items)[number]["ground"]): string =>
    ground.map(({ measure, value, unit }) => `${measure} ${value}${unit === "" ? "" : ` ${unit}`}`).join(", ");
  if (json === true) print(JSON.stringify({ items }, null, 2));
  else if (csv === true) {
    const rows = items.map(({ kind, sinceMs, sentence, remedy, ground, proposal }) => [
      kind,
      instant(sinceMs),
      sentence,
      remedy,
      groundOf(ground),
      proposal?.id ?? "",
      proposal?.phase ?? "",
    ]);
    print(...csvLines(["kind", "since", "finding", "remedy", "ground", "proposal", "phase"], rows));
  } else if (items.length === 0) context.note("No finding asks for a change of the fleet.");
  else {
    const rows = items.map(({ kind, sinceMs, sentence, remedy, ground, proposal }) => [
      kind,
      instant(sinceMs),
      proposal === null ? "-" : `${proposal.id} ${proposal.phase}`,
      printable(remedy),
      printable(`${sentence} (${groundOf(ground)})`),
    ]);
    const titles = [
      { title: "KIND" },
      { title: "SINCE" },
      { title: "PROPOSAL" },
      { title: "REMEDY", minWidth: 20 },
      { title: "FINDING", minWidth: 20 },
    ];
    print(...tableLines(titles, rows, terminal.stdout, paint));
    const books = new Set(items.flatMap(({ runbooks }) => runbookPairs(runbooks).map((pair) => pair.join("  "))));
    if (books.size > 0) print("", ...books);
  }
  return exitCode.ok;
}
