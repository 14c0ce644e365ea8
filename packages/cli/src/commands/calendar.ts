import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { printable } from "../terminal.ts";

interface CalendarCommandOptions {
  readonly json?: boolean;
}

const removeCommand = defineCommand<CalendarCommandOptions>({
  name: "remove",
  summary: "Remove an entry from the calendar",
  arguments: [{ syntax: "<name>", description: "its name" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.removeCalendarEntry(args[0] ?? "");
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(`removed ${answer.name} from the calendar`);
    return exitCode.ok;
  },
});

export const calendarCommand = defineCommand<CalendarCommandOptions>({
  name: "calendar",
  summary: "List maintenance windows, advance reservations and power tariffs",
  commands: [removeCommand],
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const { items } = await client.calendar();
    if (options.json === true) context.print(JSON.stringify({ items }, null, 2));
    else if (items.length === 0) context.note("The calendar is empty.");
    else {
      const { windowUseSentence } = await import("@headroom/views");
      for (const item of items) {
        context.print(`${printable(item.sentence)}${item.begun === true ? " (now)" : ""}`);
        const use = windowUseSentence(item);
        if (use !== "") context.print(`  ${printable(use)}`);
      }
    }
    return exitCode.ok;
  },
});
