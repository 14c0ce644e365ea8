/** Finds the control plane: its state directory, its address, and its token. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import { isProblemError } from "./describe-error.ts";
import { printable, type Terminal } from "./terminal.ts";

const SERVER_FILE = "server.json";
const TOKEN_FILE = "token";
/** File that a running control plane keeps in its state directory. */
interface ServerFile {
  readonly url: string;
  readonly pid: number;
}

/** `--home`, else `$HEADROOM_HOME`, else `.headroom` in the working directory. */
export function homeDirectory({ env, workingDirectory }: Terminal, given: string | undefined): string {
  const named = given ?? env["HEADROOM_HOME"];
  return path.resolve(workingDirectory, named === undefined || named === "" ? ".headroom" : named);
}

/** `--user`, else `$HEADROOM_USER`, else the operating system's user. */
export async function actingUser({ env, userName }: Terminal, given: string | undefined): Promise<string> {
  const inEnvironment = env["HEADROOM_USER"] ?? "";
  const { checkedUser } = await import("@headroom/protocol");
  try {
    return checkedUser(given ?? (inEnvironment === "" ? userName() : inEnvironment));
  } catch (error) {
    if (!isProblemError(error)) throw error;
    throw new CliError(`${printable(error.message)}\nName another with --user or HEADROOM_USER.`, exitCode.usage);
  }
}

interface Whence {
  readonly home: string;
  /** Read only if a control plane answers. */
  user(): Promise<string>;
}

/** A client for `$HEADROOM_URL`, else for the control plane that runs on the state directory. */
export async function connect(terminal: Terminal, { home, user }: Whence): Promise<HeadroomClient> {
  const baseUrl = await addressOf(terminal, home);
  const token = terminal.env["HEADROOM_TOKEN"] ?? (await tokenIn(terminal, home));
  return clientOf({
    baseUrl,
    token: token === "" ? undefined : token,
    user: await user(),
    interrupted: terminal.interrupted,
  });
}

/** The token of a state directory is sent only to the control plane of that directory. */
async function tokenIn({ env }: Terminal, home: string): Promise<string | undefined> {
  const isElsewhere = (env["HEADROOM_URL"] ?? "") !== "";
  return isElsewhere ? undefined : (await textOf(path.join(home, TOKEN_FILE)))?.trim();
}

interface Address {
  readonly baseUrl: string;
  readonly token: string | undefined;
  readonly user: string;
  /** An interrupted command stops waiting for an answer. */
  readonly interrupted?: AbortSignal;
}

export async function clientOf({ baseUrl, token, user, interrupted }: Address): Promise<HeadroomClient> {
  const { createHttpClient } = await import("@headroom/protocol");
  return createHttpClient({
    baseUrl,
    token,
    user,
    fetch: (url, request) => {
      const signals = [request.signal as AbortSignal | undefined, interrupted].filter((each) => each !== undefined);
      return fetch(url, { ...(request as RequestInit), signal: AbortSignal.any(signals) });
    },
    newIdempotencyKey: () => crypto.randomUUID(),
  });
}

async function addressOf({ env }: Terminal, home: string): Promise<string> {
  const given = env["HEADROOM_URL"];
  if (given !== undefined && given !== "") {
    if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
      throw new CliError(`HEADROOM_URL is no http address: ${JSON.stringify(given)}`, exitCode.usage);
    }
    return given.replace(/\/+$/, "");
  }
  const found = await readServerFile(home);
  if (found === undefined) throw new CliError(notRunning(home));
  return found.url;
}

function notRunning(home: string): string {
  return (
    `no control plane is running on ${home}.\n` +
    "Start one with `npm start` or `headroom up`, or name another with --home, HEADROOM_HOME or HEADROOM_URL."
  );
}

/** `undefined` if the file is missing or malformed. */
async function readServerFile(home: string): Promise<ServerFile | undefined> {
  const text = await textOf(path.join(home, SERVER_FILE));
  if (text === undefined) return undefined;
  try {
    const { url, pid } = JSON.parse(text) as Partial<Record<string, unknown>>;
    return typeof url === "string" && typeof pid === "number" ? { url, pid } : undefined;
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
    if (code === "EACCES") throw new CliError(`${file} may not be read by you: it belongs to another user.`);
    throw error;
  }
}
