/** Requests to the admin address of a running gateway, with its token. The token is sent in a header, never in a URL. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

export interface AdminAddress {
  readonly url: string;
  readonly token: string;
}

export interface AdminOptions {
  readonly admin?: string;
  readonly adminToken?: string;
}

export interface AdminReply<Body> {
  readonly status: number;
  readonly body: Body & { readonly error?: string };
}

const TIMEOUT_MS = 30_000;

/** The address that `--admin` names, with the token of `--admin-token FILE` or `$HEADROOM_GATEWAY_TOKEN`. */
export async function namedAdmin(
  { terminal }: CommandContext,
  { admin = "", adminToken }: AdminOptions,
): Promise<AdminAddress> {
  const url = /^https?:\/\//.test(admin) ? admin.replace(/\/+$/, "") : `http://${admin}`;
  if (!URL.canParse(url)) throw new CliError(`--admin is no address: ${JSON.stringify(admin)}`, exitCode.usage);
  const token =
    adminToken === undefined
      ? terminal.env["HEADROOM_GATEWAY_TOKEN"]
      : await readFile(path.resolve(terminal.workingDirectory, adminToken), "utf8").catch((error: unknown) => {
          throw new CliError(`--admin-token cannot be read: ${error instanceof Error ? error.message : String(error)}`);
        });
  if (token === undefined || token.trim() === "")
    throw new CliError(
      "the admin address needs its token: give --admin-token FILE (the gateway keeps it in STATE/ID/admin-token), or set HEADROOM_GATEWAY_TOKEN",
      exitCode.usage,
    );
  return { url, token: token.trim() };
}

/** Sends a request: with a body, a POST. Throws a `CliError` if the gateway does not answer. */
export async function askAdmin<Body>(
  { url, token }: AdminAddress,
  route: string,
  body?: object,
): Promise<AdminReply<Body>> {
  const headers = { authorization: `Bearer ${token}`, "x-headroom-admin": "1" };
  try {
    const response = await fetch(url + route, {
      method: body === undefined ? "GET" : "POST",
      headers,
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as AdminReply<Body>["body"] };
  } catch (error) {
    const { cause, message } = error instanceof Error ? error : new Error(String(error));
    throw new CliError(`${url} does not answer: ${cause instanceof Error ? cause.message : message}`);
  }
}

export function checkedReply<Body>({ status, body }: AdminReply<Body>): Body {
  if (status < 400) return body;
  throw new CliError(body.error ?? `the gateway answered ${status}`, status < 500 ? exitCode.usage : exitCode.failed);
}
