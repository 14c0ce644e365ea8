import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { limitOption } from "../listing-options.ts";
import type { CreateTokenOptions, ListTokensOptions } from "../token/run-token.ts";

const createSubcommand = defineCommand<CreateTokenOptions>({
  name: "create",
  summary: "Create a token of a person or program, and print it once",
  details: `Roles, each with those before it:
  viewer    reads the work of its teams
  member    submits work, and changes the work of its own user
  operator  changes the work of other users, too; on the whole control plane also nodes and the calendar
  admin     declares teams below its own and creates tokens for them; on the whole control plane everything

Examples:
  headroom token create alice-laptop --for alice --team research --expires 90d
  headroom token create ci --for ci --team research/nlp --role member
  headroom token create carol --for carol --role operator`,
  arguments: [{ syntax: "<name>", description: "name of the token, for people" }],
  options: [
    { flags: "--for <user>", description: "user as whom the token acts (required)" },
    { flags: "--team <team>", description: "team for which, and below which, the role holds (default: all teams)" },
    {
      flags: "--role <role>",
      description: "viewer, member, operator or admin (default: member)",
      complete: ["viewer", "member", "operator", "admin"],
    },
    { flags: "--expires <duration>", description: "time until it expires, like 90d (default: never)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { createToken } = await import("../token/run-token.ts");
    return createToken(context, args[0] ?? "", options);
  },
});

const listSubcommand = defineCommand<ListTokensOptions>({
  name: "list",
  summary: "List the active tokens, with their last use",
  options: [
    { flags: "--all", description: "also tokens that have expired or were revoked, as far as they are kept" },
    { flags: "--csv", description: "print comma-separated values" },
    limitOption,
    jsonOption,
  ],
  async run(context, { options }) {
    const { listTokens } = await import("../token/run-token.ts");
    return listTokens(context, options);
  },
});

const revokeSubcommand = defineCommand<{ readonly json?: boolean }>({
  name: "revoke",
  summary: "Revoke a token; requests and browser sessions with it are refused at once",
  arguments: [{ syntax: "<name>", description: "name or id of the token" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { revokeToken } = await import("../token/run-token.ts");
    return revokeToken(context, args[0] ?? "", options);
  },
});

const deniedSubcommand = defineCommand<{ readonly json?: boolean }>({
  name: "denied",
  summary: "List requests that were denied since the start of the control plane",
  options: [jsonOption],
  async run(context, { options }) {
    const { listDenials } = await import("../token/run-token.ts");
    return listDenials(context, options);
  },
});

export const tokenCommand = defineCommand({
  name: "token",
  summary: "Give people and programs access to their teams: create, list and revoke tokens",
  commands: [createSubcommand, listSubcommand, revokeSubcommand, deniedSubcommand],
  run() {
    return Promise.reject(new CliError("token needs a command: headroom token list", exitCode.usage));
  },
});

export const whoamiCommand = defineCommand<{ readonly json?: boolean }>({
  name: "whoami",
  summary: "Show the user, role and teams of your token",
  options: [jsonOption],
  async run(context, { options }) {
    const { whoAmI } = await import("../token/run-token.ts");
    return whoAmI(context, options);
  },
});
