/**
 * Requests that were denied, newest last. They are kept in memory and are bounded; equal ones in a row are one record.
 * Beyond the bound, the token with the most records loses its oldest one, so that no token displaces those of others.
 */
import type { Denial } from "@headroom/protocol";

const KEPT_MAX = 1_000;
/** Characters of a name that a client chose. */
const NAME_CHARS_MAX = 200;

export class Denials {
  readonly #kept: Denial[] = [];

  record(denial: Omit<Denial, "count">): void {
    const name = denial.name?.slice(0, NAME_CHARS_MAX) ?? null;
    const last = this.#kept.at(-1);
    if (last !== undefined && keyOf(last) === keyOf({ ...denial, name })) {
      this.#kept[this.#kept.length - 1] = { ...last, atMs: denial.atMs, count: last.count + 1 };
      return;
    }
    this.#kept.push({ ...denial, name, count: 1 });
    if (this.#kept.length > KEPT_MAX) this.#dropOne();
  }

  #dropOne(): void {
    const counts = new Map<string, number>();
    for (const each of this.#kept) counts.set(holderOf(each), (counts.get(holderOf(each)) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const at = this.#kept.findIndex((each) => counts.get(holderOf(each)) === most);
    this.#kept.splice(at, 1);
  }

  /** The newest first. */
  get items(): Denial[] {
    return this.#kept.toReversed();
  }
}

const holderOf = ({ user, token }: Pick<Denial, "user" | "token">): string => token ?? user;

const keyOf = ({ user, token, operation, permission, name }: Omit<Denial, "count" | "atMs">): string =>
  JSON.stringify([user, token, operation, permission, name]);
