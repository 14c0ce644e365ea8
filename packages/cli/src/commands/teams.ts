import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";

interface Options {
  readonly json?: boolean;
}

const TEAMS_SHOWN_MAX = 100_000;

const removeCommand = defineCommand<Options>({
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

export const teamsCommand = defineCommand<Options>({
  name: "teams",
  summary: "List teams with their limits and what they hold",
  commands: [removeCommand],
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const { items, more } = await allPages((cursor, limit) => client.teams({ cursor, limit }), TEAMS_SHOWN_MAX);
    if (options.json === true) {
      context.print(JSON.stringify({ items, more }, null, 2));
      return exitCode.ok;
    }
    const columns = [
      { title: "TEAM", minWidth: 8 },
      { title: "HELD / LIMIT", minWidth: 12 },
    ];
    const rows = items.map(({ name, held, limit }) => {
      const types = [...new Set([...Object.keys(limit), ...Object.keys(held)])].toSorted();
      const use = types.map((type) => `${type} ${held[type] ?? 0}/${limit[type] ?? "∞"}`);
      return [{ text: name, tone: "bold" as const }, use.join(", ")];
    });
    if (items.length === 0) context.note("No teams.");
    else context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
    return exitCode.ok;
  },
});
