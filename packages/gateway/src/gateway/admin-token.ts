/** The token of the admin address: from the configuration, else made once and kept in the gateway's state folder. */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";
import { makeDirectory, syncPath } from "@headroom/platform";
import type { GatewayConfig } from "../config/schema.ts";
import { secretOf } from "../config/secrets.ts";

/** The folder in which a gateway keeps its state. */
export function stateDirectoryOf({ state, id }: Pick<GatewayConfig, "state" | "id">): string {
  return path.join(state, id.replaceAll(/[^A-Za-z0-9._-]/g, "_"));
}

function adminTokenFile(directory: string): string {
  return path.join(directory, "admin-token");
}

/** The token for requests to a gateway's admin address. Undefined if the gateway has not made one yet. */
export function knownAdminToken(config: GatewayConfig): string | undefined {
  if (config.adminToken !== undefined) return secretOf(config.adminToken);
  return readToken(adminTokenFile(stateDirectoryOf(config)));
}

/** The token of this gateway. A gateway without one gets a new one, which later starts keep. */
export function adminTokenOf({ adminToken }: Pick<GatewayConfig, "adminToken">, directory: string): string {
  if (adminToken !== undefined) return secretOf(adminToken);
  const file = adminTokenFile(directory);
  const found = readToken(file);
  if (found !== undefined) return found;
  const token = randomBytes(32).toString("base64url");
  makeDirectory(directory, 0o700);
  const fd = openSync(file, "wx", 0o600);
  try {
    writeSync(fd, `${token}\n`);
  } finally {
    closeSync(fd);
  }
  syncPath(directory);
  return token;
}

/** Compares hashes, so that the time of a comparison states nothing about the token. */
export function isToken(presented: string, token: string): boolean {
  return timingSafeEqual(hash("sha256", presented, "buffer"), hash("sha256", token, "buffer"));
}

function readToken(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (/^[\x21-\x7e]{16,}$/.test(text)) return text;
  throw new Error(`${file} has no token of at least 16 characters: remove it, and the gateway makes a new one.`);
}
