/** Usage of each user in a team with all teams below it: kept only while a policy or a team needs it. */
import type { TeamName } from "@headroom/model";
import { usageKey } from "../usage/imported-usage.ts";
import type { TeamNode } from "./team-node.ts";

export interface Holder {
  readonly team: TeamName;
  readonly actor: string;
}

export class UserUse {
  readonly #used = new Map<string, number[]>();
  isKept = false;

  used(team: TeamName, user: string): readonly number[] {
    return this.#used.get(usageKey(team, user)) ?? NOTHING;
  }

  entries(): ReadonlyMap<string, readonly number[]> {
    return this.#used;
  }

  clear(): void {
    this.#used.clear();
  }

  /** The vector of the user in the team, for writing. */
  of({ name }: TeamNode, user: string): number[] {
    const key = usageKey(name, user);
    let vector = this.#used.get(key);
    if (vector === undefined) this.#used.set(key, (vector = []));
    return vector;
  }

  /** Removes a user without usage. */
  markClean({ name }: TeamNode, user: string): void {
    const key = usageKey(name, user);
    if (this.#used.get(key)?.every((amount) => amount === 0) === true) this.#used.delete(key);
  }
}

const NOTHING: readonly number[] = [];
