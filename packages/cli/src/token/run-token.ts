/** `headroom token`: tokens of people and programs, and the requests that were denied to them. */
import type { AccessToken, Role } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { limitOf } from "../listing-options.ts";
import { instant, plural } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";

export interface CreateTokenOptions {
  readonly for?: string;
  readonly team?: string;
  readonly role?: string;
  readonly expires?: string;
  readonly json?: boolean;
}

export interface ListTokensOptions {
  readonly all?: boolean;
  readonly csv?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

export async function createToken(
  context: CommandContext,
  name: string,
  options: CreateTokenOptions,
): Promise<ExitCode> {
  const { readDuration, DURATION_MS_MAX, roles } = await import("@headroom/protocol");
  if (options.for === undefined)
    throw new CliError("name the user as whom the token acts: --for alice", exitCode.usage);
  const role = roles.find((each) => each === (options.role ?? ("member" satisfies Role)));
  if (role === undefined)
    throw new CliError(`--role must be one of ${roles.join(", ")}, got ${options.role ?? ""}`, exitCode.usage);
  const expires =
    options.expires === undefined ? null : readDuration(options.expires, { min: 1, max: DURATION_MS_MAX });
  if (expires?.ok === false) throw new CliError(`--expires: ${expires.message}`, exitCode.usage);
  const client = await context.connect();
  const created = await client.createToken({
    name,
    user: options.for,
    team: options.team ?? null,
    role,
    ...(expires === null ? {} : { expiresInMs: expires.value }),
  });
  if (options.json === true) context.print(JSON.stringify(created, null, 2));
  else {
    context.print(created.secret);
    context.note(
      `This is shown once. Use it as HEADROOM_TOKEN, with HEADROOM_URL, or as a bearer token. ${sentenceOf(created.token)}`,
    );
  }
  return exitCode.ok;
}

const placeOf = ({ team }: Pick<AccessToken, "team">): string => team ?? "(all teams)";

function sentenceOf({ user, role, team, expiresAtMs }: AccessToken): string {
  const place = team === null ? "the whole control plane" : `team ${team} and the teams below it`;
  const until = expiresAtMs === null ? "It does not expire." : `It expires at ${instant(expiresAtMs)}.`;
  return `It acts as ${user}: ${role} of ${place}. ${until}`;
}

const csvTitles = ["id", "name", "user", "team", "role", "created", "created_by", "expires", "revoked", "last_used"];

export async function listTokens(context: CommandContext, options: ListTokensOptions): Promise<ExitCode> {
  const limit = limitOf(options.limit);
  const client = await context.connect();
  const { items, more } = await allPages(
    (cursor, size) => client.listTokens({ all: options.all, cursor, limit: size }),
    limit,
  );
  if (options.json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (options.csv === true) context.print(...csvLines(csvTitles, items.map(csvRow)));
  else if (items.length === 0)
    context.note("There is no token. Create one with `headroom token create NAME --for USER`.");
  else {
    const columns = [
      { title: "NAME", minWidth: 8 },
      { title: "ID" },
      { title: "USER" },
      { title: "ROLE" },
      { title: "TEAM", minWidth: 8 },
      { title: "EXPIRES" },
      { title: "LAST USED" },
    ];
    const rows = items.map((token) => [
      token.name,
      token.id,
      token.user,
      token.role,
      placeOf(token),
      token.revokedAtMs === null ? at(token.expiresAtMs, "never") : "revoked",
      at(token.lastUsedAtMs, "never"),
    ]);
    context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  }
  if (more) context.note(`There are more than ${plural(items.length, "token")}: use --limit.`);
  return exitCode.ok;
}

const at = (atMs: number | null, otherwise: string): string => (atMs === null ? otherwise : instant(atMs));

const csvRow = (token: AccessToken): readonly string[] => [
  token.id,
  token.name,
  token.user,
  token.team ?? "",
  token.role,
  instant(token.createdAtMs),
  token.createdBy,
  at(token.expiresAtMs, ""),
  at(token.revokedAtMs, ""),
  at(token.lastUsedAtMs, ""),
];

/** `given`: an id, or the name of an active token. An id goes first: a token can have the id of another one as its name. */
export async function revokeToken(
  context: CommandContext,
  given: string,
  { json }: { readonly json?: boolean },
): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await allPages((cursor, size) => client.listTokens({ cursor, limit: size }), Infinity);
  const id = (items.find((token) => token.id === given) ?? items.find(({ name }) => name === given))?.id ?? given;
  const revoked = await client.revokeToken(id);
  context.print(json === true ? JSON.stringify(revoked, null, 2) : `token ${revoked.name} is revoked`);
  return exitCode.ok;
}

export async function listDenials(context: CommandContext, { json }: { readonly json?: boolean }): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.listDenials();
  if (json === true) context.print(JSON.stringify({ items }, null, 2));
  else if (items.length === 0) context.note("No request was denied since the start of the control plane.");
  else {
    const columns = [
      { title: "LAST" },
      { title: "USER" },
      { title: "OPERATION" },
      { title: "NEEDS" },
      { title: "RESOURCE", minWidth: 8 },
      { title: "COUNT", align: "right" as const },
    ];
    const rows = items.map((each) => [
      instant(each.atMs),
      each.user,
      each.operation,
      each.permission,
      each.name ?? "",
      String(each.count),
    ]);
    context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  }
  return exitCode.ok;
}

export async function whoAmI(context: CommandContext, { json }: { readonly json?: boolean }): Promise<ExitCode> {
  const client = await context.connect();
  const identity = await client.identity();
  if (json === true) context.print(JSON.stringify(identity, null, 2));
  else {
    const { user, role, team, token, expiresAtMs } = identity;
    const place = team === null ? "the whole control plane" : `team ${team} and the teams below it`;
    const means = token === null ? "the token of the state directory" : `the token ${token}`;
    const until = expiresAtMs === null ? "" : `, which expires at ${instant(expiresAtMs)}`;
    context.print(`${user}: ${role} of ${place}, by ${means}${until}`);
  }
  return exitCode.ok;
}
