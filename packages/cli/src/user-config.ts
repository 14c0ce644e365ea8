/**
 * The user's configuration directory (`$XDG_CONFIG_HOME/headroom`, else `~/.config/headroom`): `server.json` names the control plane that
 * commands talk to from any directory. `headroom up` writes it and removes it; a user may write one by hand for a remote control plane.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { CliError } from "./cli-error.ts";
import type { Terminal } from "./terminal.ts";

/** The configured server: either a state directory of this machine, or an address with its token. */
export interface ConfiguredServer {
  readonly home?: string;
  readonly url?: string;
  readonly token?: string;
}

type Environment = Terminal["env"];

/** Path of the file; `null`: the environment names no home directory. */
function serverFile(env: Environment): string | null {
  const base = env["XDG_CONFIG_HOME"] || (env["HOME"] ? path.join(env["HOME"], ".config") : "");
  return base === "" ? null : path.join(base, "headroom", "server.json");
}

/** The configured server; `null`: there is none. Throws a `CliError` if the file is invalid. */
export async function configuredServer(env: Environment): Promise<ConfiguredServer | null> {
  const file = serverFile(env);
  if (file === null) return null;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch {
    return null;
  }
  const server = parsed(text);
  if (server === null)
    throw new CliError(
      `${file} is not understood. Write {"url": "http://HOST:7070", "token": "…"}, or remove it: \`headroom up\` writes it.`,
    );
  return server;
}

function parsed(text: string): ConfiguredServer | null {
  try {
    const { home, url, token } = JSON.parse(text) as Partial<Record<string, unknown>>;
    const isText = (value: unknown): boolean => value === undefined || typeof value === "string";
    const isWhole = [home, url, token].every(isText) && (home !== undefined || url !== undefined);
    return isWhole ? (JSON.parse(text) as ConfiguredServer) : null;
  } catch {
    return null;
  }
}

/**
 * Makes the control plane of this state directory the user's current one. Does nothing for a user without a
 * configuration directory.
 */
export async function announceServer(env: Environment, home: string): Promise<void> {
  const file = serverFile(env);
  if (file === null) return;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify({ home })}\n`, { mode: 0o600 });
  await rename(draft, file);
}

/** Removes the entry, unless it names another control plane by now. */
export async function forgetServer(env: Environment, home: string): Promise<void> {
  const file = serverFile(env);
  if (file === null || (await configuredServer(env).catch(() => null))?.home !== home) return;
  await rm(file, { force: true });
}
