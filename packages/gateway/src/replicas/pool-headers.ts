/** Headers that the configuration of a pool sets on every request: its own, and the one with its key. */
import { readFileSync } from "node:fs";
import type { PoolConfig } from "../config/schema.ts";

export interface PoolHeaders {
  /** Each with its CRLF. */
  readonly lines: string;
  /** Lines of the same names from the client or the gateway, which are not sent. Undefined if nothing can match. */
  readonly overridden: RegExp | undefined;
}

export const noHeaders: PoolHeaders = { lines: "", overridden: undefined };

export function poolHeaders(config: PoolConfig): PoolHeaders {
  const values = new Map(Object.entries(config.headers).map(([name, value]) => [name.toLowerCase(), value]));
  // Names are letters, digits and dashes: nothing in them is special in a pattern.
  const names = [...values.keys()].join("|");
  if (config.key !== undefined) {
    const key = secretOf(config.key);
    if (config.engine === "anthropic") values.set("x-api-key", key);
    else values.set("authorization", `Bearer ${key}`);
  }
  return {
    lines: [...values].map(([name, value]) => `${name}: ${value}\r\n`).join(""),
    // Credentials of clients are never forwarded, so a pool with a key alone has nothing to override.
    overridden: names === "" ? undefined : new RegExp(`^(?:${names}):.*\\r\\n`, "gim"),
  };
}

/** Reads a secret from the source in the configuration. */
export function secretOf(source: { readonly env: string } | { readonly file: string }): string {
  const text = "env" in source ? process.env[source.env] : readFileSync(source.file, "utf8");
  const name = "env" in source ? `the environment variable ${source.env}` : source.file;
  const value = text?.trim();
  if (value === undefined || value === "") throw new Error(`A key is missing: set ${name}.`);
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Error(`The key in ${name} has characters that a header cannot carry.`);
  return value;
}
