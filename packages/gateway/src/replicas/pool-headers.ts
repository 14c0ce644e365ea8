/** Headers that a pool's configuration adds to every request: those that it lists, and the one with the pool's key. */
import type { PoolConfig } from "../config/schema.ts";
import { secretOf } from "../config/secrets.ts";

export interface PoolHeaders {
  /** The headers by their names in lower case. */
  readonly values: Readonly<Record<string, string>>;
  /** The header lines, each with its CRLF. */
  readonly lines: string;
  /**
   * Matches lines with the same names from the client or the gateway. These are not sent. Undefined if no line can
   * match.
   */
  readonly overridden: RegExp | undefined;
}

export const noHeaders: PoolHeaders = { values: {}, lines: "", overridden: undefined };

export function poolHeaders(config: PoolConfig): PoolHeaders {
  const values = new Map(Object.entries(config.headers).map(([name, value]) => [name.toLowerCase(), value]));
  // The names contain only letters, digits and dashes, so they need no escaping in a pattern.
  const names = [...values.keys()].join("|");
  if (config.key !== undefined) {
    const key = secretOf(config.key);
    if (config.engine === "anthropic") values.set("x-api-key", key);
    else values.set("authorization", `Bearer ${key}`);
  }
  return {
    values: Object.fromEntries(values),
    lines: [...values].map(([name, value]) => `${name}: ${value}\r\n`).join(""),
    // Credentials of clients are never forwarded, so a pool that sets only a key overrides nothing.
    overridden: names === "" ? undefined : new RegExp(`^(?:${names}):.*\\r\\n`, "gim"),
  };
}
