import type { HoldReason, QueueQuery, WorkloadQuery } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { plural, shortDuration } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { gangText, workloadTable } from "../output/workload-text.ts";
import { checkTeam, limitOf, limitOption } from "../listing-options.ts";
import { allPages } from "../resolve-workload.ts";
import type { CommandContext } from "../command.ts";
import type { HeadroomClient } from "@headroom/protocol";

const phases = ["pending", "running", "stopping", "succeeded", "failed", "cancelled"] as const;
const kinds = ["train", "batch"] as const;
const NONE_YET = "There are no workloads. Submit one with `headroom run` or `headroom apply -f FILE`.";

interface ListCommandOptions {
  readonly phase?: string;
  readonly team?: string;
  readonly kind?: string;
  readonly search?: string;
  readonly waiting?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

export const listCommand = defineCommand<ListCommandOptions>({
  name: "list",
  summary: "List workloads, newest first",
  details:
    "Examples:\n  headroom list --phase running\n  headroom list --waiting        the queue in order, with reasons",
  options: [
    { flags: "--phase <phase>", description: `only ${phases.join(", ")}`, complete: phases },
    { flags: "--team <team>", description: "only workloads of this team and the teams below it", complete: "team" },
    { flags: "--kind <kind>", description: `only ${kinds.join(" or ")}`, complete: kinds },
    { flags: "--search <text>", description: "only workloads whose name or id contains the text" },
    { flags: "--waiting", description: "show the queue in order, with the reasons for waiting" },
    limitOption,
    jsonOption,
  ],
  async run(context, { options }) {
    const limit = limitOf(options.limit);
    const client = await context.connect();
    const phase = oneOf("--phase", options.phase, phases);
    const wanted: QueueQuery = {
      kind: oneOf("--kind", options.kind, kinds),
      team: options.team,
      search: options.search,
    };
    if (options.team !== undefined) await checkTeam(client, options.team);
    if (options.waiting === true) {
      if (phase !== undefined && phase !== "pending")
        throw new CliError(`--waiting lists what is pending; leave out --phase ${phase}`, exitCode.usage);
      return listQueue(context, client, { wanted, limit, json: options.json === true });
    }
    const query: WorkloadQuery = { ...wanted, phase };
    const { items, more } = await allPages(
      (cursor, size) => client.listWorkloads({ ...query, cursor, limit: size }),
      limit,
    );
    if (options.json === true) {
      context.print(JSON.stringify({ items, more }, null, 2));
      return exitCode.ok;
    }
    if (items.length === 0) context.note(isAsked(query) ? "No workload matches." : NONE_YET);
    else context.print(...workloadTable(items, Date.now(), context.terminal.stdout, context.paint));
    if (more)
      context.note(
        `There are more than ${plural(items.length, "workload")}: use --limit, --phase, --team or --search.`,
      );
    return exitCode.ok;
  },
});

interface QueueListing {
  readonly wanted: QueueQuery;
  readonly limit: number;
  readonly json: boolean;
}

const isAsked = (query: WorkloadQuery): boolean => Object.values(query).some((value) => value !== undefined);

async function listQueue(context: CommandContext, client: HeadroomClient, { wanted, limit, json }: QueueListing) {
  let totals = { workloads: 0, tasks: 0, accelerators: 0 };
  let holdReason: HoldReason | undefined;
  const { items, more } = await allPages(async (cursor, size) => {
    const page = await client.queue({ ...wanted, cursor, limit: size, holdReason: holdReason === undefined });
    totals = page.waiting;
    holdReason ??= page.holdReason;
    return page;
  }, limit);
  if (json) {
    context.print(JSON.stringify({ items, more, waiting: totals, holdReason }, null, 2));
    return exitCode.ok;
  }
  const { holdReasonSentence } = await import("@headroom/views");
  const others = holdReason === undefined ? null : holdReasonSentence(holdReason);
  const noteOthers = (): void => {
    if (others !== null) context.note(`${others} \`headroom list --phase pending\` also lists them.`);
  };
  if (items.length === 0) {
    context.note(
      totals.workloads === 0
        ? `Nothing waits${others === null ? "" : " for a place"}.`
        : `None of ${plural(totals.workloads, "waiting workload")} matches.`,
    );
    noteOthers();
    return exitCode.ok;
  }
  const columns = [
    { title: "#", align: "right" as const },
    { title: "ID" },
    { title: "NAME", minWidth: 8 },
    { title: "TEAM", minWidth: 6 },
    { title: "USER", minWidth: 4 },
    { title: "GANG", minWidth: 8 },
    { title: "WAITS", align: "right" as const },
    { title: "WHY", minWidth: 20 },
  ];
  const nowMs = Date.now();
  const rows = items.map(({ position, workload, reason }) => [
    String(position + 1),
    workload.id,
    { text: workload.name, tone: "bold" as const },
    workload.team,
    workload.actor,
    gangText(workload),
    shortDuration(nowMs - workload.submittedAtMs),
    reason?.sentence ?? "starts shortly",
  ]);
  context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  context.note(
    `${plural(totals.workloads, "workload")} waiting with ${plural(totals.tasks, "task")} for ${plural(totals.accelerators, "accelerator")}.`,
  );
  noteOthers();
  return exitCode.ok;
}

function oneOf<Choice extends string>(
  flag: string,
  value: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (value === undefined) return undefined;
  const found = choices.find((choice) => choice === value);
  if (found === undefined)
    throw new CliError(`${flag} must be one of ${choices.join(", ")}, got ${value}`, exitCode.usage);
  return found;
}
