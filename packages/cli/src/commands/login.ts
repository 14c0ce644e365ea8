import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { shortDuration } from "../output/amounts.ts";

interface LoginCommandOptions {
  readonly json?: boolean;
}

export const loginCommand = defineCommand<LoginCommandOptions>({
  name: "login",
  summary: "Print a one-time link that signs your browser in to the console",
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const link = await client.createLoginLink();
    if (options.json === true) {
      context.print(JSON.stringify(link, null, 2));
      return exitCode.ok;
    }
    context.print(link.url);
    context.note(`The link signs in one browser, within ${shortDuration(link.expiresAtMs - Date.now())}.`);
    return exitCode.ok;
  },
});
