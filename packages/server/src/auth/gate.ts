/**
 * Authentication: a bearer token for programs, a signed session for browsers. Browsers send cookies to every port of a
 * host, and so to every job's web page. Therefore a session is a cookie only with TLS, where its prefix `__Host-` and
 * `Secure` keep it from other pages; without TLS the console keeps the session and sends it as a bearer token. A
 * request must be addressed to this server: `Host` must be one of its names, and `Origin` one of its pages. So other
 * web pages cannot use a browser's cookie.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { TeamName } from "@headroom/model";
import { USER_HEADER, checkedUser, isUser, refuse } from "@headroom/protocol";
import type { AccessToken, ProblemError } from "@headroom/protocol";
import { AccessTokens } from "./access-tokens.ts";
import { grantOf, wholeControlPlane } from "./authorize.ts";
import type { Principal } from "./authorize.ts";

export interface GateOptions {
  /** The bearer token; `null`: no authentication, which is allowed on loopback only. */
  readonly token: string | null;
  /** Names of this server in addition to loopback names and plain IP addresses. */
  readonly hostNames: readonly string[];
  /** Tokens of people and programs; absent: there are none. */
  readonly tokens?: Pick<AccessTokens, "find" | "active">;
  readonly nowMs: () => number;
}

/** Time in ms for which a login link works. A link is used right after it was printed. */
const LOGIN_CODE_LIFETIME_MS = 10 * 60_000;
/** Time in ms for which a cookie signs a browser in: two weeks, so that a holiday weekend does not end the session. */
const COOKIE_LIFETIME_MS = 14 * 24 * 3_600_000;
/** Time in ms for which a session without TLS lasts: a working day, because the network can see it. */
const PAGE_SESSION_LIFETIME_MS = 12 * 3_600_000;
/** Mark before the id of an access token in the place of the user of a session. No user name has it. */
const TOKEN_MARK = "~";
/** Prefix of a session that is sent as a bearer token. No token of a control plane contains a dot. */
const SESSION_MARK = "session.";
/** Maximum number of unused login links. Beyond it, the oldest is dropped. */
const LOGIN_CODES_MAX = 100;

export interface LoginCode {
  readonly code: string;
  readonly expiresAtMs: number;
}

/** How a browser is signed in. `pageSession`: the console keeps the session and sends it as a bearer token. */
export type SignIn =
  | { readonly kind: "cookie"; readonly setCookie: string }
  | { readonly kind: "pageSession"; readonly bearer: string };

export class Gate {
  readonly #token: Buffer | null;
  readonly #cookieKey: Buffer;
  readonly #cookieName: string;
  readonly #hostNames: ReadonlySet<string>;
  readonly #tokens: Pick<AccessTokens, "find" | "active">;
  readonly #nowMs: () => number;
  readonly #codes = new Map<string, { readonly expiresAtMs: number; readonly user: string | null }>();

  constructor({ token, hostNames, tokens = noTokens, nowMs }: GateOptions) {
    this.#token = token === null ? null : Buffer.from(token);
    this.#cookieKey = token === null ? randomBytes(32) : createHash("sha256").update(`session:${token}`).digest();
    // Cookies ignore ports, so two control planes on one host need different names.
    this.#cookieName = `__Host-headroom_${createHash("sha256").update(this.#cookieKey).digest("hex").slice(0, 8)}`;
    this.#hostNames = new Set(["localhost", ...hostNames.map((name) => name.toLowerCase())]);
    this.#tokens = tokens;
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

  /**
   * The authenticated party of a request; `null`: not authenticated. Throws if the header names a user that the request may
   * not act for. `isTls`: the connection is encrypted; without that, a cookie could come from another port of this host.
   */
  principal(headers: IncomingHttpHeaders, isTls: boolean): Principal | null {
    const { authorization, cookie } = headers;
    if (this.#token === null) return withAllPermissions(declaredUser(headers) ?? "anonymous");
    const bearer = authorization === undefined ? null : bearerOf(authorization);
    if (bearer !== null && AccessTokens.hasForm(bearer)) return this.#holder(headers, bearer);
    if (authorization !== undefined && bearer?.startsWith(SESSION_MARK) !== true)
      return bearer !== null && matches(bearer, this.#token)
        ? withAllPermissions(declaredUser(headers) ?? "token")
        : null;
    const principal =
      bearer !== null ? this.#signedIn(bearer.slice(SESSION_MARK.length)) : this.#cookiePrincipal(cookie, isTls);
    if (principal === null || declaredUser(headers) === null) return principal;
    throw refuse(
      "invalidRequest",
      `A browser acts for the user who signed in; send ${USER_HEADER} only with the token.`,
      {
        errors: [{ pointer: USER_HEADER, message: "goes with the token" }],
      },
    );
  }

  /** An access token acts as its own user. A client may name this user, but no other. */
  #holder(headers: IncomingHttpHeaders, credential: string): Principal | null {
    const token = this.#tokens.find(credential);
    if (token === null) return null;
    const declared = declaredUser(headers);
    if (declared === null || declared === token.user) return principalOf(token);
    throw refuse("invalidRequest", `This token acts as ${token.user}. Leave ${USER_HEADER} out, or name this user.`, {
      errors: [{ pointer: USER_HEADER, message: `must be ${token.user}` }],
    });
  }

  /**
   * `asker`: who requested the link. The browser acts for this user, with the role of the asker's access token; without a
   * user, for `console`.
   */
  newLoginCode({ actor, tokenId }: Pick<Principal, "actor" | "tokenId">): LoginCode {
    for (const oldest of this.#codes.keys()) {
      if (this.#codes.size < LOGIN_CODES_MAX) break;
      this.#codes.delete(oldest);
    }
    const code = randomBytes(24).toString("base64url");
    const expiresAtMs = this.#nowMs() + LOGIN_CODE_LIFETIME_MS;
    const user = tokenId !== null ? TOKEN_MARK + tokenId : isUser(actor) ? actor : null;
    this.#codes.set(digestOf(code), { expiresAtMs, user });
    return { code, expiresAtMs };
  }

  /** The session for an unused code; `null`: the code is unknown, used or expired. */
  redeem(code: string, isTls: boolean): SignIn | null {
    const key = digestOf(code);
    const found = this.#codes.get(key);
    this.#codes.delete(key);
    if (found === undefined || found.expiresAtMs < this.#nowMs()) return null;
    if (!isTls)
      return { kind: "pageSession", bearer: SESSION_MARK + this.#session(PAGE_SESSION_LIFETIME_MS, found.user) };
    const value = this.#session(COOKIE_LIFETIME_MS, found.user);
    const attributes = `Path=/; Max-Age=${COOKIE_LIFETIME_MS / 1000}; Secure; HttpOnly; SameSite=Strict`;
    return { kind: "cookie", setCookie: `${this.#cookieName}=${value}; ${attributes}` };
  }

  #session(lifetimeMs: number, user: string | null): string {
    const untilMs = this.#nowMs() + lifetimeMs;
    return `${untilMs}.${this.#signature(untilMs, user)}${user === null ? "" : `.${user}`}`;
  }

  #cookiePrincipal(cookie: string | undefined, isTls: boolean): Principal | null {
    if (cookie === undefined || !isTls) return null;
    for (const pair of cookie.split(";")) {
      const [name, value = ""] = pair.trim().split("=", 2);
      const principal = name === this.#cookieName ? this.#signedIn(value) : null;
      if (principal !== null) return principal;
    }
    return null;
  }

  /**
   * The principal of a session; `null`: the session has no valid signature or has expired. Sessions are signed and not
   * stored, so that they survive a restart; a new token ends all sessions. The end of an access token ends its sessions.
   */
  #signedIn(session: string): Principal | null {
    const [, until = "", signature = "", user = null] = /^([1-9][0-9]{0,14})\.([\w-]+)(?:\.(.+))?$/.exec(session) ?? [];
    if (until === "" || Number(until) < this.#nowMs()) return null;
    if (!matches(signature, Buffer.from(this.#signature(Number(until), user)))) return null;
    if (user?.startsWith(TOKEN_MARK) !== true) return withAllPermissions(user ?? "console");
    const token = this.#tokens.active(user.slice(TOKEN_MARK.length));
    return token === null ? null : principalOf(token);
  }

  #signature(untilMs: number, user: string | null): string {
    const signed = user === null ? String(untilMs) : `${untilMs} ${user}`;
    return createHmac("sha256", this.#cookieKey).update(signed).digest("base64url");
  }
}

const noTokens = { find: () => null, active: () => null };

const withAllPermissions = (actor: string): Principal => ({ actor, grants: [wholeControlPlane], tokenId: null });

const principalOf = ({ id, user, team, role }: AccessToken): Principal => ({
  actor: user,
  grants: [grantOf(team as TeamName | null, role)],
  tokenId: id,
});

/** The credential of an `Authorization` header; `null`: the header has another scheme. */
function bearerOf(authorization: string): string | null {
  return /^bearer /i.test(authorization) ? authorization.slice(7).trim() : null;
}

function matches(given: string, expected: Buffer): boolean {
  const bytes = Buffer.from(given);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
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
