import { defineCommand, jsonOption, type OptionDefinition } from "../command.ts";
import type { CreateOptions, KeyOptions, RevokeOptions, RotateOptions } from "../gateway/run-key.ts";

const whereOptions: readonly OptionDefinition[] = [
  { flags: "--config <file>", description: "the gateway's configuration (default: gateway.yaml)", complete: "file" },
  { flags: "--admin <url>", description: "admin address of a running gateway, instead of the files (default: none)" },
  {
    flags: "--admin-token <file>",
    description: "file with the token of --admin (default: $HEADROOM_GATEWAY_TOKEN)",
    complete: "file",
  },
  jsonOption,
];

const subject = { syntax: "<team/name>", description: "the team and the name of its key: search/laptop" };

const createCommand = defineCommand<CreateOptions>({
  name: "create",
  summary: "Create a key of a team, and print it once",
  details: `Examples:
  headroom key create search/laptop
  headroom key create search/ci --expires 90d --models chat,embed
The key is printed on stdout and stored nowhere: gateway.keys.json beside gateway.yaml gets its hash. A running gateway takes the key without a restart.`,
  arguments: [subject],
  options: [
    { flags: "--expires <when>", description: "a duration or a UTC date: 90d, 2027-03-01 (default: never)" },
    {
      flags: "--models <names>",
      description: "models that the key may use, separated by commas (default: the team's)",
    },
    ...whereOptions,
  ],
  async run(context, { args, options }) {
    const { runKeyCreate } = await import("../gateway/run-key.ts");
    return runKeyCreate(context, args[0] ?? "", options);
  },
});

const rotateCommand = defineCommand<RotateOptions>({
  name: "rotate",
  summary: "Replace a key by a new one; the old one holds for a while",
  arguments: [subject],
  options: [
    { flags: "--overlap <duration>", description: "time for which the old key holds: 0m, 12h, 7d (default: 1d)" },
    ...whereOptions,
  ],
  async run(context, { args, options }) {
    const { runKeyRotate } = await import("../gateway/run-key.ts");
    return runKeyRotate(context, args[0] ?? "", options);
  },
});

const revokeCommand = defineCommand<RevokeOptions>({
  name: "revoke",
  summary: "Refuse a key from now on, and those that it replaced",
  arguments: [subject],
  options: [{ flags: "--only-rotated", description: "only the replaced keys that still hold" }, ...whereOptions],
  async run(context, { args, options }) {
    const { runKeyRevoke } = await import("../gateway/run-key.ts");
    return runKeyRevoke(context, args[0] ?? "", options);
  },
});

const listCommand = defineCommand<KeyOptions>({
  name: "list",
  summary: "List the keys of teams, without the keys themselves",
  options: whereOptions,
  async run(context, { options }) {
    const { runKeyList } = await import("../gateway/run-key.ts");
    return runKeyList(context, options);
  },
});

export const keyCommand = defineCommand<KeyOptions>({
  name: "key",
  summary: "Create, list, rotate and revoke the keys with which teams use the gateway",
  options: whereOptions,
  commands: [createCommand, listCommand, rotateCommand, revokeCommand],
  async run(context, { options }) {
    const { runKeyList } = await import("../gateway/run-key.ts");
    return runKeyList(context, options);
  },
});
