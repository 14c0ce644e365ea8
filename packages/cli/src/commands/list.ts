import type { HoldReason, QueryFor, WorkloadQuery } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { plural, shortDuration } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { gangText } from "../output/workload-text.ts";
import { fieldNames, fieldsOf, printFields } from "../output/list-fields.ts";
import {
  checkTeam,
  limitOf,
  limitOption,
  phases,
  phasesOf,
  selectionOf,
  selectionOptions,
  sinceOf,
  type SelectionOptions,
} from "../listing-options.ts";
import { allPages } from "../resolve-workload.ts";
import type { CommandContext } from "../command.ts";
import type { HeadroomClient } from "@headroom/protocol";

const kinds = ["train", "batch", "serve"] as const;
const NONE_YET = "There are no workloads. Submit one with `headroom run` or `headroom apply -f FILE`.";

/** Fields of the list without `--format`. */
const DEFAULT_FIELDS = ["id", "name", "team", "user", "kind", "phase", "gang", "progress", "age"];

interface ListCommandOptions extends SelectionOptions {
  readonly phase?: readonly string[];
  readonly state?: readonly string[];
  readonly since?: string;
  readonly format?: string;
  readonly csv?: boolean;
  readonly kind?: string;
  readonly waiting?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

export const listCommand = defineCommand<ListCommandOptions>({
  name: "list",
  summary: "List workloads, newest first",
  details:
    "Examples:\n  headroom list --mine --phase running,pending\n  headroom list --waiting        the queue in order, with reasons\n" +
    "  headroom list --since monday --state failed --format id,name,exit,elapsed,nodes\n" +
    `Fields of --format: ${fieldNames.join(", ")}.\n` +
    "States of Slurm (R, PD, CD, F, TO, CA, CG) are read as phases. Ended work with its sums: headroom history.",
  options: [
    {
      flags: "--phase <phases>",
      description: `only these phases, with commas: ${phases.join(", ")} (default: all)`,
      complete: phases,
      repeatable: true,
    },
    { flags: "-t, --state <phases>", description: "the same as --phase", repeatable: true, hidden: true },
    ...selectionOptions,
    { flags: "--kind <kind>", description: `only ${kinds.join(" or ")}`, complete: kinds },
    {
      flags: "-S, --since <time>",
      description: "only workloads submitted since then: 2d, today, monday, or 2026-07-01 (default: all)",
    },
    { flags: "--waiting", description: "show the queue in order, with the reasons for waiting" },
    { flags: "-o, --format <fields>", description: `fields with commas (default ${DEFAULT_FIELDS.join(",")})` },
    { flags: "--csv", description: "print comma-separated values: seconds, hours and instants without units" },
    limitOption,
    jsonOption,
  ],
  async run(context, { options }) {
    const limit = limitOf(options.limit);
    const names = options.format === undefined ? DEFAULT_FIELDS : fieldsOf(options.format);
    const phase = phasesOf(options.phase === undefined ? "--state" : "--phase", options.phase ?? options.state);
    const submittedFromMs = await sinceOf(options.since);
    const client = await context.connect();
    const selected = { kind: oneOf("--kind", options.kind, kinds), ...(await selectionOf(context, options)) };
    if (options.team !== undefined) await checkTeam(client, options.team);
    if (options.waiting === true) return listWaiting(context, client, { options, phase, limit });
    const query: WorkloadQuery = { ...selected, submittedFromMs, phase };
    const { items, more } = await allPages(
      (cursor, size) => client.listWorkloads({ ...query, cursor, limit: size }),
      limit,
    );
    if (options.json === true) {
      context.print(JSON.stringify({ items, more }, null, 2));
      return exitCode.ok;
    }
    if (items.length === 0 && options.csv !== true) context.note(isAsked(query) ? "No workload matches." : NONE_YET);
    else printFields(context, items, { names, csv: options.csv === true });
    if (more)
      context.note(
        `There are more than ${plural(items.length, "workload")}: use --limit, --phase, --team, --mine or --since.`,
      );
    return exitCode.ok;
  },
});

interface WaitingListing {
  readonly options: ListCommandOptions;
  readonly phase: readonly string[] | undefined;
  readonly limit: number;
}

/** `--waiting`: the queue, which has its own order and filters. */
function listWaiting(context: CommandContext, client: HeadroomClient, { options, phase, limit }: WaitingListing) {
  if (phase?.some((each) => each !== "pending") === true)
    throw new CliError(`--waiting lists what is pending; leave out --phase ${phase.join(",")}`, exitCode.usage);
  const others = (["mine", "user", "node", "since", "format", "csv"] as const).filter(
    (name) => options[name] !== undefined,
  );
  if (others.length > 0)
    throw new CliError(`--waiting does not take ${others.map((name) => `--${name}`).join(" or ")}`, exitCode.usage);
  const wanted: QueryFor<"queue"> = {
    kind: oneOf("--kind", options.kind, kinds),
    team: options.team,
    search: options.search,
  };
  return listQueue(context, client, { wanted, limit, json: options.json === true });
}

interface QueueListing {
  readonly wanted: QueryFor<"queue">;
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
