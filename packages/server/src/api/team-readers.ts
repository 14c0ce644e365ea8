/** Answers for principals that read the work of some teams. Principals of the same teams share what was looked up. */
import { TeamReader } from "@headroom/views";
import { readsAllTeams } from "../auth/authorize.ts";
import type { Principal } from "../auth/authorize.ts";
import { readableTeams } from "../auth/team-tree.ts";
import type { Driver } from "../driver/driver.ts";

/** Maximum number of kept readers. Beyond it, the oldest is dropped. */
const READERS_MAX = 64;

/** Text that is equal for readers of the same teams. */
export const readerKey = (principal: Principal): string =>
  readsAllTeams(principal) ? "" : JSON.stringify(principal.grants.map(({ team }) => team));

export class TeamReaders {
  readonly #driver: Pick<Driver, "read">;
  readonly #readers = new Map<string, TeamReader>();

  constructor(driver: Pick<Driver, "read">) {
    this.#driver = driver;
  }

  /** The answer without names of other teams' work, if the principal may not see it. The words of `given` stay. */
  async seenBy<Answer>(principal: Principal, answer: Answer, given: unknown): Promise<Answer> {
    if (readsAllTeams(principal)) return answer;
    const reader = this.#readerOf(principal);
    return this.#driver.read(({ state }) => reader.answer(state, answer, [principal.actor, given]));
  }

  #readerOf(principal: Principal): TeamReader {
    const key = readerKey(principal);
    const reader = this.#readers.get(key) ?? new TeamReader((state) => readableTeams(state, principal));
    this.#readers.delete(key);
    this.#readers.set(key, reader);
    for (const oldest of this.#readers.keys()) {
      if (this.#readers.size <= READERS_MAX) break;
      this.#readers.delete(oldest);
    }
    return reader;
  }
}
