/** `headroom key`: keys of teams, in the file beside gateway.yaml, or through the admin address of a running gateway. */
import type { CreatedKey, GatewayConfig, ShownKey } from "@headroom/gateway";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { askAdmin, checkedReply, namedAdmin, type AdminOptions } from "./admin-client.ts";
import { configNamed, type GatewayPackage } from "./gateway-config.ts";

export interface KeyOptions extends AdminOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export interface CreateOptions extends KeyOptions {
  readonly expires?: string;
  readonly models?: string;
}

export interface RotateOptions extends KeyOptions {
  readonly overlap?: string;
}

export interface RevokeOptions extends KeyOptions {
  readonly onlyRotated?: boolean;
}

interface RotatedKey extends CreatedKey {
  readonly oldUntilMs: number;
}

const DEFAULT_CONFIG = "gateway.yaml";
const DEFAULT_OVERLAP = "1d";
const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export async function runKeyCreate(context: CommandContext, word: string, options: CreateOptions): Promise<ExitCode> {
  const { team, name } = subjectOf(word);
  const models = options.models?.split(",").map((each) => each.trim());
  const expiresAtMs = options.expires === undefined ? undefined : expiryOf(options.expires, Date.now());
  const request = { team, name, expiresAtMs, models };
  const created =
    options.admin === undefined
      ? await onFiles(context, options, ({ api, config, file }) => {
          const misfit = api.misfitOf(request, config);
          if (misfit !== undefined) throw new CliError(misfit, exitCode.usage);
          return api.changeKeyFile(file, (keys) => api.createOwnKey(config, keys, request, Date.now()));
        })
      : await remote<CreatedKey>(context, options, "/v1/keys", request);
  if (options.json === true) {
    context.print(JSON.stringify(created, undefined, 2));
    return exitCode.ok;
  }
  context.print(created.key);
  const until =
    created.stored.expiresAtMs === undefined ? "" : `, valid until ${instantText(created.stored.expiresAtMs)}`;
  context.note(`This is the key ${name} of team ${team}${until}. It is shown once; only its hash is stored.`);
  noteReading(context, options);
  return exitCode.ok;
}

export async function runKeyList(context: CommandContext, options: KeyOptions): Promise<ExitCode> {
  const keys =
    options.admin === undefined
      ? await onFiles(context, options, ({ api, config, file }) =>
          api.shownKeys(config.teams, api.readKeyFile(file), Date.now()),
        )
      : (await remote<{ readonly keys: readonly ShownKey[] }>(context, options, "/v1/keys")).keys;
  if (options.json === true) context.print(JSON.stringify({ keys }, undefined, 2));
  else if (keys.length === 0) context.note("No keys. Create one: headroom key create TEAM/NAME");
  else context.print(...tableLines(columns, keys.map(rowOf), context.terminal.stdout, context.paint));
  return exitCode.ok;
}

export async function runKeyRotate(context: CommandContext, word: string, options: RotateOptions): Promise<ExitCode> {
  const { team, name } = subjectOf(word);
  const overlapMs = overlapOf(options.overlap ?? DEFAULT_OVERLAP);
  const which = { team, name, overlapMs };
  const rotated =
    options.admin === undefined
      ? await onFiles(context, options, ({ api, file }) =>
          api.changeKeyFile(file, (keys) => api.rotateKey(keys, which, Date.now())),
        )
      : await remote<RotatedKey>(context, options, "/v1/keys/rotate", which);
  if (options.json === true) {
    context.print(JSON.stringify(rotated, undefined, 2));
    return exitCode.ok;
  }
  context.print(rotated.key);
  const old = overlapMs === 0 ? "is refused from now on" : `holds until ${instantText(rotated.oldUntilMs)}`;
  context.note(`This is the new key ${name} of team ${team}. It is shown once. The old key ${old}.`);
  noteReading(context, options);
  return exitCode.ok;
}

export async function runKeyRevoke(context: CommandContext, word: string, options: RevokeOptions): Promise<ExitCode> {
  const { team, name } = subjectOf(word);
  const which = { team, name, onlyRotated: options.onlyRotated === true };
  const outcome =
    options.admin === undefined
      ? await onFiles(context, options, ({ api, file }) =>
          api.changeKeyFile(file, (keys) => api.revokeKey(keys, which, Date.now())),
        )
      : await remote<{ readonly revokedCount: number }>(context, options, "/v1/keys/revoke", which);
  if (options.json === true) context.print(JSON.stringify({ ...which, ...outcome }, undefined, 2));
  else {
    const { revokedCount } = outcome;
    context.print(`revoked ${team}/${name}${revokedCount === 1 ? "" : ` (${revokedCount} keys)`}`);
    noteReading(context, options);
  }
  return exitCode.ok;
}

interface Files {
  readonly api: GatewayPackage;
  readonly config: GatewayConfig;
  /** The file of keys. */
  readonly file: string;
}

async function onFiles<Outcome>(
  context: CommandContext,
  { config: name = DEFAULT_CONFIG }: KeyOptions,
  act: (files: Files) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const api = await import("@headroom/gateway");
  const { config, keysFile } = await configNamed(context, name, { mayLackKeys: true });
  try {
    return await act({ api, config, file: keysFile });
  } catch (error) {
    if (error instanceof api.KeyRefusal) throw new CliError(error.message, exitCode.usage);
    if (error instanceof CliError) throw error;
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}

async function remote<Body>(context: CommandContext, options: KeyOptions, route: string, body?: object): Promise<Body> {
  return checkedReply(await askAdmin<Body>(await namedAdmin(context, options), route, body));
}

/** With `--admin`, the gateway has applied the change before it answers. */
function noteReading(context: CommandContext, { admin }: KeyOptions): void {
  if (admin === undefined) context.note("A running gateway reads the change within a second.");
}

function subjectOf(word: string): { readonly team: string; readonly name: string } {
  // Names may contain slashes. The last one separates the team from the name of the key.
  const at = word.lastIndexOf("/");
  if (at > 0 && at < word.length - 1) return { team: word.slice(0, at), name: word.slice(at + 1) };
  throw new CliError(`${JSON.stringify(word)} names no key: write TEAM/NAME, such as search/laptop`, exitCode.usage);
}

/** A duration such as `90d`, or a UTC date. */
function expiryOf(text: string, nowMs: number): number {
  const lasting = durationOf(text);
  if (lasting !== undefined) return nowMs + lasting;
  const isDate = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z)?$/.test(text);
  const atMs = isDate ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(atMs)) return atMs;
  throw new CliError("--expires takes a duration (90d, 12h) or a UTC date (2027-03-01)", exitCode.usage);
}

function overlapOf(text: string): number {
  const overlapMs = durationOf(text);
  if (overlapMs !== undefined) return overlapMs;
  throw new CliError("--overlap takes a duration: 0m, 30m, 12h or 7d", exitCode.usage);
}

function durationOf(text: string): number | undefined {
  const match = /^(\d{1,5})([mhd])$/.exec(text);
  return match === null ? undefined : Number(match[1]) * units[match[2]!]!;
}

function instantText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const columns = [
  { title: "TEAM", minWidth: 6 },
  { title: "KEY", minWidth: 6 },
  { title: "STATE" },
  { title: "EXPIRES" },
  { title: "MODELS", minWidth: 6 },
  { title: "CREATED" },
  { title: "IN" },
];

function rowOf({ team, name, state, expiresAtMs, models, createdAtMs, source }: ShownKey): readonly string[] {
  return [
    team,
    name,
    state,
    expiresAtMs === undefined ? "never" : instantText(expiresAtMs),
    models?.join(", ") ?? "the team's",
    createdAtMs === undefined ? "–" : instantText(createdAtMs),
    source === "file" ? "keys file" : "gateway.yaml",
  ];
}
