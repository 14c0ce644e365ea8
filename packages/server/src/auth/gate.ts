/**
 * Authentication: a bearer token for programs, a signed cookie for browsers. A request must be addressed to this
 * server: `Host` must be one of its names, and `Origin` one of its pages. So other web pages cannot use a browser's
 * cookie.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { USER_HEADER, checkedUser, isUser, refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";
import { allPermissions } from "./authorize.ts";
import type { Principal } from "./authorize.ts";

export interface GateOptions {
  /** The bearer token; `null`: no authentication, which is allowed on loopback only. */
  readonly token: string | null;
  /** Names of this server in addition to loopback names and plain IP addresses. */
  readonly hostNames: readonly string[];
  readonly nowMs: () => number;
}

/** Time in ms for which a login link works. A link is used right after it was printed. */
const LOGIN_CODE_LIFETIME_MS = 10 * 60_000;
/** Time in ms for which a browser stays signed in: two weeks, so that a holiday weekend does not end the session. */
const SESSION_LIFETIME_MS = 14 * 24 * 3_600_000;
/** Maximum number of unused login links. Beyond it, the oldest is dropped. */
const LOGIN_CODES_MAX = 100;

export interface LoginCode {
  readonly code: string;
  readonly expiresAtMs: number;
}

export class Gate {
  readonly #token: Buffer | null;
  readonly #cookieKey: Buffer;
  readonly #cookieName: string;
  readonly #hostNames: ReadonlySet<string>;
  readonly #nowMs: () => number;
  readonly #codes = new Map<string, { readonly expiresAtMs: number; readonly user: string | null }>();

  constructor({ token, hostNames, nowMs }: GateOptions) {
    this.#token = token === null ? null : Buffer.from(token);
    this.#cookieKey = token === null ? randomBytes(32) : createHash("sha256").update(`session:${token}`).digest();
    // Cookies ignore ports, so two control planes on one host need different names.
    this.#cookieName = `headroom_${createHash("sha256").update(this.#cookieKey).digest("hex").slice(0, 8)}`;
    this.#hostNames = new Set(["localhost", ...hostNames.map((name) => name.toLowerCase())]);
    this.#nowMs = nowMs;
  }

  /**
   * The refusal of a request that names another host or comes from a page of another origin; `null`: the request is
   * accepted. In absolute form (`GET http://host/path`) the target names the host, and the header `Host` does not count
   * (RFC 9112 §3.2.2).
   */
  misdirected(headers: IncomingHttpHeaders, target: string): ProblemError | null {
    const { origin } = headers;
    const host = target.startsWith("/") ? headers.host : authorityOf(target);
    const name = hostName(host);
    // DNS rebinding needs a name of the attacker in `Host`. A request that names an IP address cannot come from
    // rebinding.
    if (name === null || (isIP(name) === 0 && !this.#hostNames.has(name))) {
      return refuse(
        "forbiddenHost",
        "Use the address that the control plane printed, or start it with --host-name and the name that you used.",
      );
    }
    if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
      return refuse("forbiddenOrigin", "Requests from pages of other sites are refused.");
    }
    return null;
  }

  /** The authenticated party of a request; `null`: not authenticated. Throws in the same cases as `actor`. */
  principal(headers: IncomingHttpHeaders): Principal | null {
    const actor = this.actor(headers);
    return actor === null ? null : { actor, permissions: allPermissions };
  }

  /**
   * The actor of a request; `null`: not authenticated. Throws if the header names a user that the request may not act
   * for.
   */
  actor(headers: IncomingHttpHeaders): string | null {
    const { authorization, cookie } = headers;
    if (this.#token === null) return declaredUser(headers) ?? "anonymous";
    if (authorization !== undefined)
      return this.#bearerMatches(this.#token, authorization) ? (declaredUser(headers) ?? "token") : null;
    const actor = cookie === undefined ? null : this.#signedIn(cookie);
    if (actor === null || declaredUser(headers) === null) return actor;
    throw refuse(
      "invalidRequest",
      `A browser acts for the user who signed in; send ${USER_HEADER} only with the token.`,
      {
        errors: [{ pointer: USER_HEADER, message: "goes with the token" }],
      },
    );
  }

  /** `asker`: the user who requested the link. The browser acts for this user; without one, for `console`. */
  newLoginCode(asker: string): LoginCode {
    for (const oldest of this.#codes.keys()) {
      if (this.#codes.size < LOGIN_CODES_MAX) break;
      this.#codes.delete(oldest);
    }
    const code = randomBytes(24).toString("base64url");
    const expiresAtMs = this.#nowMs() + LOGIN_CODE_LIFETIME_MS;
    this.#codes.set(digestOf(code), { expiresAtMs, user: isUser(asker) ? asker : null });
    return { code, expiresAtMs };
  }

  /** The `Set-Cookie` header for an unused code; `null`: the code is unknown, used or expired. */
  redeem(code: string): string | null {
    const key = digestOf(code);
    const found = this.#codes.get(key);
    this.#codes.delete(key);
    if (found === undefined || found.expiresAtMs < this.#nowMs()) return null;
    const { user } = found;
    const untilMs = this.#nowMs() + SESSION_LIFETIME_MS;
    const maxAgeS = SESSION_LIFETIME_MS / 1000;
    const value = `${untilMs}.${this.#signature(untilMs, user)}${user === null ? "" : `.${user}`}`;
    return `${this.#cookieName}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict`;
  }

  #bearerMatches(token: Buffer, authorization: string): boolean {
    if (!/^bearer /i.test(authorization)) return false;
    const given = Buffer.from(authorization.slice(7).trim());
    return given.length === token.length && timingSafeEqual(given, token);
  }

  /**
   * The actor of a session cookie; `null`: the cookie has no valid signature. Cookies are signed and not stored, so
   * that sessions survive a restart; a new token ends all sessions.
   */
  #signedIn(cookie: string): string | null {
    for (const pair of cookie.split(";")) {
      const [name, value = ""] = pair.trim().split("=", 2);
      if (name !== this.#cookieName) continue;
      const [, until = "", signature = "", user = null] = /^([0-9]{1,15})\.([\w-]+)(?:\.(.+))?$/.exec(value) ?? [];
      if (until === "" || Number(until) < this.#nowMs()) continue;
      const expected = Buffer.from(this.#signature(Number(until), user));
      const given = Buffer.from(signature);
      if (given.length === expected.length && timingSafeEqual(given, expected)) return user ?? "console";
    }
    return null;
  }

  #signature(untilMs: number, user: string | null): string {
    const signed = user === null ? String(untilMs) : `${untilMs} ${user}`;
    return createHmac("sha256", this.#cookieKey).update(signed).digest("base64url");
  }
}

/** The user that the request names; `null`: it names none. */
function declaredUser(headers: IncomingHttpHeaders): string | null {
  const given = headers[USER_HEADER.toLowerCase()];
  // Node joins repeated headers with a comma, which no user name contains.
  return given === undefined ? null : checkedUser(String(given));
}

/** Codes are stored by their digest, so that the time of a comparison reveals nothing about the code. */
function digestOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}

/** The authority of a request target in absolute form; `undefined`: the target has another form. */
function authorityOf(target: string): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1];
}

/** The name in a `Host` header, without port and in lower case; `null`: there is none. */
function hostName(host: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?$/i.exec(host ?? "");
  return match === null ? null : (match[1] ?? match[2] ?? "").toLowerCase();
}

/** Whether a listening address can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
}
