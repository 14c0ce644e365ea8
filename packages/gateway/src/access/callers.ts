/** The callers that the gateway knows: by the keys of its configuration, and by access tokens of the control plane. */
import type { TeamConfig } from "../config/schema.ts";
import type { FollowedToken } from "./followed-tokens.ts";
import { Teams, type Caller } from "./teams.ts";

export class Callers {
  readonly #now: () => number;
  #configured: readonly TeamConfig[];
  #tokens: readonly FollowedToken[] = [];
  #teams: Teams;

  constructor(configured: readonly TeamConfig[], now: () => number) {
    this.#now = now;
    this.#configured = configured;
    this.#teams = new Teams(configured, now);
  }

  /** Takes over the teams of a configuration. */
  apply(configured: readonly TeamConfig[]): void {
    this.#configured = configured;
    this.#teams = new Teams(configured, this.#now, this.#tokens);
  }

  /** Makes these the access tokens that are accepted, instead of those before. */
  accept(tokens: readonly FollowedToken[]): void {
    this.#tokens = tokens;
    this.#teams = new Teams(this.#configured, this.#now, tokens);
  }

  find(key: string): Caller | undefined {
    return this.#teams.find(key);
  }

  ofTeam(team: string): Caller | undefined {
    return this.#teams.ofTeam(team);
  }
}
