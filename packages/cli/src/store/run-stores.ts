/** `headroom store add`, `list`, `show`, `remove` and `cache`. */
import type { Store } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { settingsOf } from "../executor/settings.ts";
import { instant } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { bytesText } from "../size/quantities.ts";
import { printable } from "../terminal.ts";

export interface StoreCommandOptions {
  readonly json?: boolean;
}

export interface AddStoreOptions extends StoreCommandOptions {
  readonly setting?: readonly string[];
}

const types = ["s3", "oci", "shared", "local"] as const;

export async function addStore(
  context: CommandContext,
  [wanted = "", name = ""]: readonly string[],
  { setting = [], json }: AddStoreOptions,
): Promise<ExitCode> {
  const type = types.find((each) => each === wanted);
  if (type === undefined)
    throw new CliError(`the type must be one of ${types.join(", ")}, got ${wanted}`, exitCode.usage);
  const settings = settingsOf(setting) as never;
  const client = await context.connect();
  const set = await client.declareStore(name, { type, settings });
  if (json === true) context.print(JSON.stringify(set, null, 2));
  else context.print(`store ${set.name} is ${set.action === "created" ? "added" : set.action}`);
  return exitCode.ok;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const teamsText = (teams: unknown): string => (Array.isArray(teams) ? teams.map(textOf).join(",") : "");

const settingsText = ({ settings }: Store): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${textOf(value)}`)
    .join(" ");

export async function listStores(context: CommandContext, { json }: StoreCommandOptions): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.stores();
  const columns = [
    { title: "STORE", minWidth: 5 },
    { title: "TYPE" },
    { title: "PLACE" },
    { title: "READERS" },
    { title: "WRITERS" },
    { title: "SITE" },
  ];
  const rows = items.map(({ name, type, place, settings }) => [
    name,
    type,
    printable(place),
    printable(teamsText(settings["readers"])),
    printable(teamsText(settings["writers"])),
    printable(textOf(settings["site"] ?? "")),
  ]);
  if (json === true) context.print(JSON.stringify({ items }, null, 2));
  else if (items.length === 0) context.note("No store is declared. `headroom store add` declares one.");
  else context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  return exitCode.ok;
}

export async function showStore(
  context: CommandContext,
  [name = ""]: readonly string[],
  { json }: StoreCommandOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const store = (await client.stores()).items.find((each) => each.name === name);
  if (store === undefined)
    throw new CliError(`no store ${printable(name)} is declared. List them: headroom store list`, exitCode.failed);
  if (json === true) context.print(JSON.stringify(store, null, 2));
  else
    context.print(
      ...pairLines(
        [
          ["store", store.name],
          ["type", store.type],
          ["place", printable(store.place)],
          ["settings", printable(settingsText(store))],
        ],
        context.paint,
      ),
    );
  return exitCode.ok;
}

export async function removeStore(
  context: CommandContext,
  [name = ""]: readonly string[],
  { json }: StoreCommandOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const removed = await client.removeStore(name);
  if (json === true) context.print(JSON.stringify(removed, null, 2));
  else context.print(`store ${removed.name} is removed; its bytes stay where they are`);
  return exitCode.ok;
}

const cacheColumns = [
  { title: "EXECUTOR" },
  { title: "INPUT", minWidth: 8 },
  { title: "SIZE", align: "right" },
  { title: "DIGEST" },
  { title: "LAST USED" },
  { title: "HELD BY" },
] as const;

export async function showCaches(context: CommandContext, { json }: StoreCommandOptions): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.storeCaches();
  if (json === true) {
    context.print(JSON.stringify({ items }, null, 2));
    return exitCode.ok;
  }
  for (const { executor, path, bytes, capacity } of items)
    context.print(`${executor}: ${bytesText(bytes)} of ${bytesText(capacity)} in ${printable(path)}`);
  const rows = items.flatMap(({ executor, items: inputs }) =>
    inputs.map((input) => [
      executor,
      printable(input.uri),
      bytesText(input.bytes),
      input.digest?.slice("sha256:".length, "sha256:".length + 12) ?? "",
      instant(input.usedAtMs),
      input.holders.join(" "),
    ]),
  );
  if (rows.length > 0)
    context.print("", ...tableLines([...cacheColumns], rows, context.terminal.stdout, context.paint));
  return exitCode.ok;
}
