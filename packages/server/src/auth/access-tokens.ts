/**
 * Access tokens: created, found by their secret, revoked. A token is `hr_ID_SECRET`; the id finds the record, and the
 * digest of the whole token is compared. The secret has 256 random bits, so a plain digest is enough.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { PAGE_ITEMS_DEFAULT, refuse } from "@headroom/protocol";
import type { AccessToken, FollowedTokens, TokenCreated, TokenPage, TokenRequest } from "@headroom/protocol";
import { readTokens, writeTokens } from "./token-file.ts";
import type { RecordedToken } from "./token-file.ts";

const TOKEN_FORM = /^hr_([0-9a-f]{16})_[\w-]{43}$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;
/** Maximum number of active tokens, and of kept records of tokens that ended. */
const TOKENS_MAX = 10_000;
const ENDED_KEPT_MAX = 1_000;
/** The last use is kept to this time in ms, so that requests do not cause writes. */
const LAST_USE_STEP_MS = 60_000;

/** Lifetime and number of secrets with which the control plane asks gateways. */
const ISSUED_MS = 3_600_000;
const ISSUED_MAX = 1_000;
const NAME_CHARS_MAX = 63;

interface IssuedToken {
  readonly secret: string;
  readonly token: {
    readonly name: string;
    readonly team: string;
    readonly sha256: string;
    readonly expiresAtMs: number;
  };
}

interface AccessTokensOptions {
  readonly home: string;
  readonly nowMs: () => number;
}

interface TokenQuery {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  /** Also tokens that have ended. */
  readonly all?: boolean | undefined;
}

interface Creation extends TokenRequest {
  readonly createdBy: string;
}

export class AccessTokens {
  readonly #options: AccessTokensOptions;
  readonly #tokens = new Map<string, RecordedToken>();
  readonly #timer: NodeJS.Timeout;
  #hasNewUse = false;
  #followed: FollowedTokens | null = null;
  readonly #issued = new Map<string, IssuedToken>();

  constructor(options: AccessTokensOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#writeUses(), LAST_USE_STEP_MS);
    this.#timer.unref();
    for (const token of readTokens(options.home)) this.#tokens.set(token.id, token);
  }

  /** Whether the credential has the form of an access token. */
  static hasForm(credential: string): boolean {
    return TOKEN_FORM.test(credential);
  }

  /** The active token with this secret; `null`: there is none. Notes the use. */
  find(credential: string): AccessToken | null {
    const [, id = ""] = TOKEN_FORM.exec(credential) ?? [];
    const found = this.#tokens.get(id);
    if (found === undefined || !timingSafeEqual(digestOf(credential), Buffer.from(found.sha256, "hex"))) return null;
    return this.active(id);
  }

  /** The token with this id if it is active. Notes the use. */
  active(id: string): AccessToken | null {
    const found = this.#tokens.get(id);
    const nowMs = this.#options.nowMs();
    if (found === undefined || hasEnded(found, nowMs)) return null;
    const usedAtMs = nowMs - (nowMs % LAST_USE_STEP_MS);
    if (found.lastUsedAtMs === null || found.lastUsedAtMs < usedAtMs) {
      this.#tokens.set(id, { ...found, lastUsedAtMs: usedAtMs });
      this.#hasNewUse = true;
    }
    return withoutDigest(found);
  }

  /** The token, active or ended; `null`: there is none. */
  get(id: string): AccessToken | null {
    const found = this.#tokens.get(id);
    return found === undefined ? null : withoutDigest(found);
  }

  create({ name, user, team, role, expiresInMs, createdBy }: Creation): TokenCreated {
    const nowMs = this.#options.nowMs();
    const active = [...this.#tokens.values()].filter((each) => !hasEnded(each, nowMs));
    if (active.some((each) => each.name === name))
      throw refuse("tokenExists", `There is a token ${name}. Choose another name, or revoke it first.`);
    if (active.length >= TOKENS_MAX)
      throw refuse("tooManyTokens", `There are ${TOKENS_MAX} tokens. Revoke those that nobody uses.`);
    const id = randomBytes(ID_BYTES).toString("hex");
    const secret = `hr_${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
    const token: AccessToken = {
      id,
      name,
      user,
      team,
      role,
      createdAtMs: nowMs,
      createdBy,
      expiresAtMs: expiresInMs === undefined ? null : nowMs + expiresInMs,
      revokedAtMs: null,
      lastUsedAtMs: null,
    };
    this.#store([...this.#tokens.values(), { ...token, sha256: digestOf(secret).toString("hex") }]);
    return { token, secret };
  }

  /** Number of active tokens among those that `isCounted` accepts. */
  count(isCounted: (token: AccessToken) => boolean): number {
    const nowMs = this.#options.nowMs();
    return [...this.#tokens.values()].filter((each) => !hasEnded(each, nowMs) && isCounted(each)).length;
  }

  /** Ends the token at once. Without effect on a token that has ended. */
  revoke(id: string): AccessToken | null {
    const found = this.#tokens.get(id);
    if (found === undefined) return null;
    const revokedAtMs = found.revokedAtMs ?? this.#options.nowMs();
    this.#store([...this.#tokens.values()].map((each) => (each.id === id ? { ...each, revokedAtMs } : each)));
    return withoutDigest(found);
  }

  /**
   * Ends the tokens of teams that do not exist: they must not hold for a later team of the same name. Returns how many
   * ended.
   */
  revokeWithoutTeam(isTeam: (team: string) => boolean): number {
    const revokedAtMs = this.#options.nowMs();
    let ended = 0;
    const tokens = [...this.#tokens.values()].map((each) => {
      if (each.team === null || isTeam(each.team) || hasEnded(each, revokedAtMs)) return each;
      ended++;
      return { ...each, revokedAtMs };
    });
    if (ended > 0) this.#store(tokens);
    return ended;
  }

  /** Tokens that the reader may see, the newest first. The cursor is the id of the last one shown. */
  page(
    { cursor, limit = PAGE_ITEMS_DEFAULT, all = false }: TokenQuery,
    isReadable: (token: AccessToken) => boolean,
  ): TokenPage {
    const nowMs = this.#options.nowMs();
    const listed = [...this.#tokens.values()].toReversed().filter((each) => isReadable(each));
    const from = cursor === undefined ? 0 : listed.findIndex(({ id }) => id === cursor) + 1;
    if (cursor !== undefined && from === 0)
      throw refuse("invalidCursor", "The cursor names no token of this list. Read the list from its beginning.");
    const rest = listed.slice(from).filter((each) => all || !hasEnded(each, nowMs));
    const items = rest.slice(0, limit).map(withoutDigest);
    return { items, nextCursor: rest.length > limit ? (items.at(-1)?.id ?? null) : null };
  }

  /**
   * Digests of the tokens that gateways accept: those of teams, with role member or above. The list is kept until a token is
   * created or revoked, so it may have tokens that have expired since; gateways compare the time.
   */
  followed(): FollowedTokens {
    if (this.#followed !== null) return this.#followed;
    const nowMs = this.#options.nowMs();
    const issued = [...this.#issued.values()].flatMap(({ token }) => token);
    const items = [...this.#tokens.values()].flatMap((token) => {
      const { name, team, role, sha256, expiresAtMs } = token;
      return team === null || role === "viewer" || hasEnded(token, nowMs) ? [] : { name, team, sha256, expiresAtMs };
    });
    const all = [...items, ...issued];
    this.#followed = { version: digestOf(JSON.stringify(all)).toString("hex"), items: all };
    return this.#followed;
  }

  /**
   * A secret with which the control plane itself asks gateways for a user of a team. It is kept in memory, and the control plane does
   * not accept it. It is the same until half of its time is over.
   */
  issue(user: string, team: string): string {
    const nowMs = this.#options.nowMs();
    const key = `${user} ${team}`;
    const known = this.#issued.get(key);
    if (known !== undefined && nowMs < known.token.expiresAtMs - ISSUED_MS / 2) return known.secret;
    for (const [other, { token }] of this.#issued)
      if (token.expiresAtMs <= nowMs || this.#issued.size >= ISSUED_MAX) this.#issued.delete(other);
    const secret = `hr_${randomBytes(ID_BYTES).toString("hex")}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
    const sha256 = digestOf(secret).toString("hex");
    // Users may have signs that names of tokens have not, such as in an e-mail address.
    const name = `console-${user.replaceAll(/[^\w.-]/g, "_")}`.slice(0, NAME_CHARS_MAX);
    this.#issued.set(key, { secret, token: { name, team, sha256, expiresAtMs: nowMs + ISSUED_MS } });
    this.#followed = null;
    return secret;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#writeUses();
  }

  /** Writes the times of the last uses. They are worth a try, not a failure. */
  #writeUses(): void {
    if (!this.#hasNewUse) return;
    try {
      writeTokens(this.#options.home, [...this.#tokens.values()]);
      this.#hasNewUse = false;
    } catch {
      // The disk is full or the directory is gone. The next change of a token reports it.
    }
  }

  #store(tokens: readonly RecordedToken[]): void {
    const nowMs = this.#options.nowMs();
    const surplus = tokens.filter((each) => hasEnded(each, nowMs)).length - ENDED_KEPT_MAX;
    let dropped = 0;
    const kept = tokens.filter((each) => !hasEnded(each, nowMs) || ++dropped > surplus);
    writeTokens(this.#options.home, kept);
    this.#hasNewUse = false;
    this.#followed = null;
    this.#tokens.clear();
    for (const token of kept) this.#tokens.set(token.id, token);
  }
}

const hasEnded = ({ revokedAtMs, expiresAtMs }: AccessToken, nowMs: number): boolean =>
  revokedAtMs !== null || (expiresAtMs !== null && expiresAtMs <= nowMs);

function withoutDigest(recorded: RecordedToken): AccessToken {
  const { sha256: _sha256, ...token } = recorded;
  return token;
}

const digestOf = (credential: string): Buffer => createHash("sha256").update(credential).digest();
