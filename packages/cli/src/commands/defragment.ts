import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { shortDuration } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

interface DefragmentCommandOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const right = (title: string): { readonly title: string; readonly align: "right" } => ({ title, align: "right" });

export const defragmentCommand = defineCommand<DefragmentCommandOptions>({
  name: "defragment",
  summary: "Show migrations that would gather idle accelerators, with their cost",
  details:
    "Only the policy migrates work, in its phase `defragment` and within the bounds of its section `defragment` (docs/explanation/placement.md).\n" +
    "Example:\n  headroom defragment --dry-run",
  options: [
    {
      flags: "--dry-run",
      description: "list the migrations that are possible now, whatever the schedule and the queue",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    if (options.dryRun !== true)
      throw new CliError(
        "this command migrates nothing: only the policy migrates work (phase and section `defragment`). Pass --dry-run to list possible migrations",
        exitCode.usage,
      );
    const client = await context.connect();
    const answer = await client.defragmentation();
    if (options.json === true) {
      context.print(JSON.stringify(answer, null, 2));
      return exitCode.ok;
    }
    const { paint, terminal } = context;
    context.print(printable(answer.sentence));
    if (answer.migrations.length > 0) {
      const columns = [
        { title: "WORKLOAD", minWidth: 8 },
        { title: "TEAM", minWidth: 8 },
        ...["FROM", "TO"].map((title) => ({ title })),
        ...["ACCELERATORS", "PAIRS GATHERED", "WORK LOST"].map(right),
      ];
      const rows = answer.migrations.map((migration) => [
        migration.name,
        migration.team,
        migration.from,
        migration.to,
        String(migration.accelerators),
        String(migration.pairsGathered),
        shortDuration(migration.lostAcceleratorMs),
      ]);
      context.print("", ...tableLines(columns, rows, terminal.stdout, paint));
    }
    const blocks = answer.before.map(({ acceleratorType, nodesByIdle }, index) => [
      acceleratorType === "" ? "none" : acceleratorType,
      blocksText(nodesByIdle),
      blocksText(answer.after[index]?.nodesByIdle ?? []),
    ]);
    const columns = [{ title: "ACCELERATOR" }, { title: "NODES BY IDLE" }, { title: "AFTERWARDS" }];
    context.print("", ...tableLines(columns, blocks, terminal.stdout, paint));
    return exitCode.ok;
  },
});

/** `3 × 8, 2 × 1`: three nodes with eight idle accelerators, two with one. */
function blocksText(blocks: readonly { readonly idle: number; readonly nodes: number }[]): string {
  const idle = blocks.filter((block) => block.idle > 0).toReversed();
  return idle.length === 0 ? "–" : idle.map(({ idle: count, nodes }) => `${nodes} × ${count}`).join(", ");
}
