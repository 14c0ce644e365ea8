/** Identifies the team of a presented key by the key's SHA-256. */
import { hash, randomBytes } from "node:crypto";
import type { TeamConfig } from "../config/schema.ts";
import type { FollowedToken } from "./followed-tokens.ts";
import type { TeamLimits } from "../limits/account.ts";
import type { LimitDefinition } from "../limits/ledger.ts";
import { lowerOf, type Priority } from "../fairness/priority.ts";

export interface Caller {
  readonly team: string;
  /**
   * Team of gateway.yaml whose limits and share the requests count to: the team itself, or for a token of the control plane the
   * nearest team above that gateway.yaml lists.
   */
  readonly account: string;
  /** Name of the key. Without a name, the first digits of its hash. */
  readonly key: string;
  readonly zone: string;
  readonly region: string;
  readonly limits: TeamLimits;
  readonly hasLimits: boolean;
  /** Models that the team may use. Undefined if it may use every model. */
  readonly models: ReadonlySet<string> | undefined;
  /** Regions whose replicas may get the caller's requests. Undefined if all may. */
  readonly allowedRegions: readonly string[] | undefined;
  /** Data rules of the caller's requests: of the key and of its team. */
  readonly dataRules: readonly string[];
  /** Share of the work of pools with `fair`. */
  readonly weight: number;
  /** Highest priority that the caller's requests may state. */
  readonly priorityMax: Priority;
  /** Time from which the key is refused. Undefined if it does not expire. */
  readonly expiresAtMs: number | undefined;
}

const noLimits: TeamLimits = { requests: undefined, tokens: undefined, money: undefined };

/** The caller of all requests to a gateway without keys. */
export const anonymous: Caller = {
  team: "",
  account: "",
  key: "",
  zone: "",
  region: "",
  limits: noLimits,
  hasLimits: false,
  models: undefined,
  allowedRegions: undefined,
  dataRules: [],
  weight: 1,
  priorityMax: "normal",
  expiresAtMs: undefined,
};

/** Number of recently presented keys that are cached, so that each is hashed once: about 150 bytes each. */
const RECENT_MAX = 10_000;
const KEY_LENGTH_MAX = 512;

export class Teams {
  readonly #byHash = new Map<string, Caller>();
  readonly #byTeam = new Map<string, TeamIdentity>();
  readonly #recent = new Map<string, Caller>();

  readonly #now: () => number;

  constructor(teams: readonly TeamConfig[], now: () => number, tokens: readonly FollowedToken[] = []) {
    this.#now = now;
    for (const team of teams) {
      const access = accessOf(team);
      for (const { name, ...key } of team.keys)
        this.#add(team, access, { ...key, name: name ?? key.sha256.slice(0, 8) });
    }
    if (tokens.length === 0) return;
    const listed = new Map(teams.map((team) => [team.name, { team, access: accessOf(team) }]));
    for (const { team: path, name, sha256, expiresAtMs } of tokens) {
      const account = listed.get(accountOf(path, listed) ?? "");
      if (account === undefined || this.#byHash.has(sha256)) continue;
      const key = { name: `token:${name}`, sha256, expires: expiresAtMs ?? undefined };
      this.#add(account.team, { ...account.access, team: path }, key);
    }
  }

  #add(team: TeamConfig, access: TeamAccess, key: NamedKey): void {
    const { expires: expiresAtMs } = key;
    if (expiresAtMs !== undefined && expiresAtMs <= this.#now()) return;
    const caller: Caller = {
      ...access,
      key: key.name,
      models: modelsOf(key.models, access.models),
      allowedRegions: key.allowedRegions ?? team.allowedRegions,
      priorityMax: lowerOf(key.priorityMax ?? team.priorityMax, team.priorityMax),
      dataRules: [team.dataRule, key.dataRule].filter((rule) => rule !== undefined),
      expiresAtMs,
    };
    this.#byHash.set(key.sha256, caller);
    const identity = this.#byTeam.get(caller.team) ?? new TeamIdentity();
    identity.add(caller);
    this.#byTeam.set(caller.team, identity);
  }

  /**
   * The identity of one of the team's keys, for work that the gateway does on behalf of the team. It is not known which
   * key ordered the work, so only regions and models that every valid key of the team may use are allowed. Undefined if
   * the team has no valid key.
   */
  ofTeam(team: string): Caller | undefined {
    return this.#byTeam.get(team)?.at(this.#now());
  }

  find(key: string): Caller | undefined {
    const found = this.#recent.get(key) ?? this.#lookUp(key);
    if (found?.expiresAtMs === undefined || this.#now() < found.expiresAtMs) return found;
    return undefined;
  }

  #lookUp(key: string): Caller | undefined {
    if (key === "" || key.length > KEY_LENGTH_MAX) return undefined;
    const caller = this.#byHash.get(hash("sha256", key));
    // Only existing keys are cached, so a client that guesses keys cannot fill the cache.
    if (caller === undefined) return undefined;
    if (this.#recent.size >= RECENT_MAX) this.#recent.clear();
    this.#recent.set(key, caller);
    return caller;
  }
}

/** Properties of a caller that follow from the team of gateway.yaml. */
type TeamAccess = Pick<Caller, "team" | "account" | "zone" | "region" | "limits" | "hasLimits" | "models" | "weight">;
type NamedKey = TeamConfig["keys"][number] & { readonly name: string };

function accessOf(team: TeamConfig): TeamAccess {
  const { name, zone = "", region = "", weight } = team;
  const limits = limitsOfTeam(team);
  const hasLimits = limits.requests !== undefined || limits.tokens !== undefined || limits.money !== undefined;
  const models = team.models === undefined ? undefined : new Set(team.models);
  return { team: name, account: name, zone, region, limits, hasLimits, models, weight };
}

/** The team of this path, or the nearest one above it, that is listed. Undefined if none is. */
export function accountOf(path: string, listed: { has(name: string): boolean }): string | undefined {
  for (let name = path; ; name = name.slice(0, name.lastIndexOf("/"))) {
    if (listed.has(name)) return name;
    if (!name.includes("/")) return undefined;
  }
}

/** The rights that all keys of a team have in common. Computed again when a key has expired. */
class TeamIdentity {
  #callers: Caller[] = [];
  #common: Caller | undefined;
  #untilMs = Number.POSITIVE_INFINITY;

  add(caller: Caller): void {
    this.#callers.push(caller);
    this.#common = withAccessOf(this.#common, caller);
    this.#untilMs = Math.min(this.#untilMs, caller.expiresAtMs ?? Number.POSITIVE_INFINITY);
  }

  at(nowMs: number): Caller | undefined {
    if (nowMs < this.#untilMs) return this.#common;
    const valid = this.#callers.filter(({ expiresAtMs }) => expiresAtMs === undefined || nowMs < expiresAtMs);
    this.#callers = [];
    this.#common = undefined;
    this.#untilMs = Number.POSITIVE_INFINITY;
    for (const caller of valid) this.add(caller);
    return this.#common;
  }
}

function modelsOf(
  own: readonly string[] | undefined,
  team: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (own === undefined) return team;
  return new Set(team === undefined ? own : own.filter((each) => team.has(each)));
}

function withAccessOf(other: Caller | undefined, caller: Caller): Caller {
  const { allowedRegions: others, models: otherModels } = other ?? {};
  const { allowedRegions: own, models } = caller;
  const common = {
    ...caller,
    expiresAtMs: undefined,
    models: otherModels === undefined ? models : modelsOf([...otherModels], models),
    dataRules: [...new Set([...(other?.dataRules ?? []), ...caller.dataRules])],
    priorityMax: lowerOf(other?.priorityMax ?? caller.priorityMax, caller.priorityMax),
  };
  if (others === undefined) return common;
  return { ...common, allowedRegions: own === undefined ? others : own.filter((each) => others.includes(each)) };
}

export function limitsOfTeam(team: TeamConfig): TeamLimits {
  const definition = (kind: LimitDefinition["kind"], limit: number | undefined): LimitDefinition | undefined =>
    limit === undefined ? undefined : { id: `${kind}:${team.name}`, kind, limit };
  return {
    requests: definition("requests", team.requestsPerMinute),
    tokens: definition("tokens", team.tokensPerMinute),
    money: team.budget === undefined ? undefined : moneyLimit(team.name, team.budget),
  };
}

/** Each period has an id of its own: settlements under a former configuration do not count in the new period. */
function moneyLimit(team: string, { nanoUsd, period }: NonNullable<TeamConfig["budget"]>): LimitDefinition {
  return { id: `money:${period}:${team}`, kind: "money", limit: nanoUsd, period };
}

/** A new key and the hash that goes into gateway.yaml. */
export function newKey(): { readonly key: string; readonly sha256: string } {
  const key = `hr-${randomBytes(32).toString("base64url")}`;
  return { key, sha256: hash("sha256", key) };
}
