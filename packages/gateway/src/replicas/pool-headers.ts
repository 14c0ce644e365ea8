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
  /** Whether a header may hold a credential. */
  readonly hasSecrets: boolean;
  /** The body of an error, in which a replica may repeat the credential that it refuses. */
  withoutSecrets(body: Buffer): Buffer;
  withoutSecretLines(lines: string): string;
}

/** Shorter values are no credentials: they could occur in any text. */
const SECRET_LENGTH_MIN = 8;

export const noHeaders: PoolHeaders = headersWith(new Map(), undefined);

function headersWith(values: ReadonlyMap<string, string>, overridden: RegExp | undefined): PoolHeaders {
  const secrets = [...values.values()]
    .map((value) => value.replace(/^\w+ /, ""))
    .filter((value) => value.length >= SECRET_LENGTH_MIN);
  const hidden = (text: string): string => secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
  return {
    values: Object.fromEntries(values),
    lines: [...values].map(([name, value]) => `${name}: ${value}\r\n`).join(""),
    overridden,
    hasSecrets: secrets.length > 0,
    withoutSecrets: (body) =>
      secrets.some((secret) => body.includes(secret)) ? Buffer.from(hidden(body.toString("latin1")), "latin1") : body,
    withoutSecretLines: hidden,
  };
}

export function poolHeaders(config: PoolConfig): PoolHeaders {
  const values = new Map(Object.entries(config.headers).map(([name, value]) => [name.toLowerCase(), value]));
  // The names contain only letters, digits and dashes, so they need no escaping in a pattern.
  const names = [...values.keys()].join("|");
  if (config.key !== undefined) {
    const key = secretOf(config.key);
    if (config.engine === "anthropic") values.set("x-api-key", key);
    else values.set("authorization", `Bearer ${key}`);
  }
  // Credentials of clients are never forwarded, so a pool that sets only a key overrides nothing.
  return headersWith(values, names === "" ? undefined : new RegExp(`^(?:${names}):.*\\r\\n`, "gim"));
}
