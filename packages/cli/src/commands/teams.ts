import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";

interface TeamsCommandOptions {
  readonly json?: boolean;
}

const TEAMS_SHOWN_MAX = 100_000;

const removeCommand = defineCommand<TeamsCommandOptions>({
  name: "remove",
  summary: "Remove a team that has no work and no teams below it",
  arguments: [{ syntax: "<team>", description: "its name", complete: "team" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.removeTeam(args[0] ?? "");
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(`removed team ${answer.team}`);
    return exitCode.ok;
  },
});

export const teamsCommand = defineCommand<TeamsCommandOptions>({
  name: "teams",
  summary: "List teams with usage, entitlement, guarantee, limit and user limit",
  commands: [removeCommand],
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const { items, more } = await allPages((cursor, limit) => client.teams({ cursor, limit }), TEAMS_SHOWN_MAX);
    if (options.json === true) {
      context.print(JSON.stringify({ items, more }, null, 2));
      return exitCode.ok;
    }
    const { amountText, decayedUsageSentence, fairShareSentence, resourceUses } = await import("@headroom/views");
    const { budgetLines } = await import("../output/budget-text.ts");
    const text = (resource: string, amount: number | null, none: string): string =>
      amount === null ? none : amountText(resource, amount);
    const rows = items.flatMap((team) => {
      const uses = resourceUses(team).map(({ resource, held, entitlement, guarantee, limit, userLimit }) => [
        resource,
        text(resource, held, ""),
        text(resource, entitlement, "–"),
        text(resource, guarantee, "–"),
        text(resource, limit, "∞"),
        text(resource, userLimit, "∞"),
      ]);
      const name = { text: team.name, tone: "bold" as const };
      const [first = ["–", "0", "–", "–", "∞", "∞"], ...others] = uses;
      return [[name, String(team.weight ?? 1), ...first], ...others.map((use) => ["", "", ...use])];
    });
    if (items.length === 0) context.note("No teams.");
    else context.print(...tableLines(teamColumns, rows, context.terminal.stdout, context.paint));
    for (const team of items) {
      context.print(...budgetLines(team, context.paint));
      const past = decayedUsageSentence(team);
      if (past !== null) context.print(`recent usage of ${team.name}: ${past}`);
      const share = fairShareSentence(team);
      if (share !== null) context.print(`fair share of ${team.name}: ${share}`);
    }
    return exitCode.ok;
  },
});

const teamColumns = [
  { title: "TEAM", minWidth: 8 },
  { title: "WEIGHT", align: "right" as const },
  { title: "RESOURCE", minWidth: 8 },
  ...["HELD", "ENTITLEMENT", "GUARANTEE", "LIMIT", "USER LIMIT"].map((title) => ({ title, align: "right" as const })),
];
