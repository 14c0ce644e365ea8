/**
 * Finds the control plane: its state directory, its address, and the token that authenticates the user. Places in
 * order: `$HEADROOM_URL`; the state directory named by `--home` or `$HEADROOM_HOME`; `.headroom` in the working
 * directory or one above it; the server in the user's configuration directory.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { HeadroomClient, HttpClientOptions, OperationCaller } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import { isProblemError } from "./describe-error.ts";
import { printable, type Terminal } from "./terminal.ts";
import { configuredServer } from "./user-config.ts";

const SERVER_FILE = "server.json";
const TOKEN_FILE = "token";
/** Name of the file that a running control plane keeps in its state directory. */
interface ServerFile {
  readonly url: string;
  readonly pid: number;
  /** SHA-256 of the certificate that the control plane uses; absent: no TLS. */
  readonly certificateSha256?: string;
}

/** The state directory: `--home`, else `$HEADROOM_HOME`, else `.headroom` in the working directory. */
export function homeDirectory({ env, workingDirectory }: Terminal, given: string | undefined): string {
  const named = given ?? env["HEADROOM_HOME"];
  return path.resolve(workingDirectory, named === undefined || named === "" ? ".headroom" : named);
}

/** The acting user: `--user`, else `$HEADROOM_USER`, else the operating system's user. */
export async function actingUser({ env, userName }: Terminal, given: string | undefined): Promise<string> {
  const inEnvironment = env["HEADROOM_USER"] ?? "";
  const { checkedUser } = await import("@headroom/protocol");
  try {
    return checkedUser(given ?? (inEnvironment === "" ? userName() : inEnvironment));
  } catch (error) {
    if (!isProblemError(error)) throw error;
    throw new CliError(
      `${printable(error.message)}\nChoose another user with --user or HEADROOM_USER.`,
      exitCode.usage,
    );
  }
}

interface Whence {
  readonly home: string;
  /** Whether the user named the state directory. Then no other directory is searched. */
  readonly isHomeNamed: boolean;
  /** Whether the user named the acting user. */
  readonly isUserNamed: boolean;
  /** The acting user. The value is computed only if a control plane is found. */
  user(): Promise<string>;
}

interface Found {
  readonly baseUrl: string;
  readonly token: string | undefined;
  readonly certificateSha256?: string;
}

/** `interrupted` ends the requests of the client; absent: nothing does. */
export async function connect(terminal: Terminal, whence: Whence, interrupted?: AbortSignal): Promise<HeadroomClient> {
  return clientOf(await addressOf(terminal, whence, interrupted));
}

/** Calls rows of the operations table by name instead of the methods of a client. */
export async function connectOperations(terminal: Terminal, whence: Whence): Promise<OperationCaller> {
  const { createOperationCaller } = await import("@headroom/protocol");
  return createOperationCaller(await httpOptionsOf(await addressOf(terminal, whence, terminal.interrupted)));
}

async function addressOf(
  terminal: Terminal,
  { home, isHomeNamed, isUserNamed, user }: Whence,
  interrupted: AbortSignal | undefined,
): Promise<Address> {
  const { baseUrl, token, ...rest } = givenAddress(terminal) ?? (await foundAddress(terminal, home, isHomeNamed));
  const known = terminal.env["HEADROOM_TOKEN"] ?? token;
  return {
    ...rest,
    baseUrl,
    token: known === "" ? undefined : known,
    // An access token acts as its own user; the server refuses any other name.
    user: isAccessToken(known) && !isUserNamed ? undefined : await user(),
    ...(interrupted === undefined ? {} : { interrupted }),
  };
}

/** Whether the token is one of a person or program (`headroom token`). */
const isAccessToken = (token: string | undefined): boolean => token?.startsWith("hr_") === true;

export function isUserNamed({ env }: Terminal, given: string | undefined): boolean {
  return (given ?? env["HEADROOM_USER"] ?? "") !== "";
}

export function isHomeNamed({ env }: Terminal, given: string | undefined): boolean {
  return (given ?? env["HEADROOM_HOME"] ?? "") !== "";
}

interface Address {
  readonly baseUrl: string;
  readonly token: string | undefined;
  /** `undefined`: the user of the token. */
  readonly user: string | undefined;
  /** The certificate that is accepted, whatever its names and issuer are; absent: certificates of the system's issuers. */
  readonly certificateSha256?: string;
  /** Aborts the wait for a response when the user interrupts the command. */
  readonly interrupted?: AbortSignal;
}

export async function clientOf(address: Address): Promise<HeadroomClient> {
  const { createHttpClient } = await import("@headroom/protocol");
  return createHttpClient(await httpOptionsOf(address));
}

async function httpOptionsOf({
  baseUrl,
  token,
  user,
  certificateSha256,
  interrupted,
}: Address): Promise<HttpClientOptions> {
  const send = await fetchFor(certificateSha256);
  return {
    baseUrl,
    token,
    user,
    fetch: (url, request) => {
      const signals = [request.signal as AbortSignal | undefined, interrupted].filter((each) => each !== undefined);
      return send(url, { ...(request as RequestInit), signal: AbortSignal.any(signals) });
    },
    newIdempotencyKey: () => crypto.randomUUID(),
  };
}

async function fetchFor(certificateSha256: string | undefined): Promise<typeof fetch> {
  return certificateSha256 === undefined ? fetch : (await import("./pinned-fetch.ts")).pinnedFetch(certificateSha256);
}

export interface Readiness {
  readonly status: string;
  readonly reasons: readonly { readonly code: string; readonly detail: string }[];
}

/** Longest time in ms for the answer of a health check. */
const READINESS_TIMEOUT_MS = 5_000;

/** The answer of `/readyz`. A control plane that does not answer is not ready. */
export async function readinessOf(
  terminal: Terminal,
  { home, isHomeNamed: isNamed }: Pick<Whence, "home" | "isHomeNamed">,
): Promise<Readiness> {
  const { baseUrl, certificateSha256 } = givenAddress(terminal) ?? (await foundAddress(terminal, home, isNamed));
  const send = await fetchFor(certificateSha256);
  try {
    const answer = await send(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(READINESS_TIMEOUT_MS) });
    const body = (await answer.json()) as Partial<Readiness>;
    if (typeof body.status === "string") return { status: body.status, reasons: body.reasons ?? [] };
    return { status: "notReady", reasons: [{ code: "unknown", detail: `${baseUrl} answered ${answer.status}` }] };
  } catch (error) {
    const detail = `${baseUrl} does not answer: ${error instanceof Error ? error.message : String(error)}`;
    return { status: "notReady", reasons: [{ code: "unreachable", detail }] };
  }
}

/** The control plane at `$HEADROOM_URL`. The token of a state directory is never sent to this server. */
function givenAddress({ env }: Terminal): Found | null {
  const given = env["HEADROOM_URL"] ?? "";
  return given === "" ? null : { baseUrl: checkedUrl(given, "HEADROOM_URL"), token: undefined };
}

function checkedUrl(text: string, whence: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, "");
  throw new CliError(`${whence} is not an http address: ${JSON.stringify(text)}`, exitCode.usage);
}

async function foundAddress({ env, workingDirectory }: Terminal, home: string, isNamed: boolean): Promise<Found> {
  const homes = isNamed ? [home] : [home, ...ancestors(workingDirectory).map((each) => path.join(each, ".headroom"))];
  for (const each of homes) {
    const server = await readServerFile(each);
    if (server !== undefined) return foundIn(each, server);
  }
  const configured = isNamed ? null : await configuredServer(env);
  if (configured?.url !== undefined)
    return { baseUrl: checkedUrl(configured.url, "url in ~/.config/headroom/server.json"), token: configured.token };
  const server = configured?.home === undefined ? undefined : await readServerFile(configured.home);
  if (configured?.home !== undefined && server !== undefined) return foundIn(configured.home, server);
  throw new CliError(notRunning(home, isNamed));
}

async function foundIn(home: string, { url, certificateSha256 }: ServerFile): Promise<Found> {
  const pinned = certificateSha256 === undefined ? {} : { certificateSha256 };
  return { baseUrl: url, token: await tokenIn(home), ...pinned };
}

const tokenIn = async (home: string): Promise<string | undefined> =>
  (await textOf(path.join(home, TOKEN_FILE)))?.trim();

/** The directories above this one, nearest first. */
function ancestors(directory: string): string[] {
  const above = path.dirname(directory);
  return above === directory ? [] : [above, ...ancestors(above)];
}

function notRunning(home: string, isNamed: boolean): string {
  return (
    `no control plane is running on ${home}${isNamed ? "" : ", above it, or as your user"}.\n` +
    "Start one with `npm start` or `headroom up`, or choose another with --home, HEADROOM_HOME or HEADROOM_URL."
  );
}

/** The content of the file; `undefined` if the file is missing or malformed. */
async function readServerFile(home: string): Promise<ServerFile | undefined> {
  const text = await textOf(path.join(home, SERVER_FILE));
  if (text === undefined) return undefined;
  try {
    const { url, pid, certificateSha256 } = JSON.parse(text) as Partial<Record<string, unknown>>;
    if (typeof url !== "string" || typeof pid !== "number") return undefined;
    return { url, pid, ...(typeof certificateSha256 === "string" ? { certificateSha256 } : {}) };
  } catch {
    return undefined;
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "EACCES") throw new CliError(`${file} cannot be read: it belongs to another user.`);
    throw error;
  }
}
