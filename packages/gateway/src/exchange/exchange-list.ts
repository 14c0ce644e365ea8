/**
 * The requests in progress. It is not a Map: with one insertion and one deletion per request, a Map's table is rebuilt
 * all the time, and each old table points to its successor. When one old table is in V8's old space, this chain keeps
 * every later request alive until the next full collection. A third of all garbage went through the old space for this
 * reason.
 */
import type { ClientConnection } from "../http/client-connection.ts";

/** Place of a request in the list. */
export interface Listed {
  listIndex: number;
  /** The client's connection that waits for the response. Undefined if the gateway itself waits. */
  connection: ClientConnection | undefined;
}

export class ExchangeList<Each extends Listed> {
  readonly #all: Each[] = [];

  get size(): number {
    return this.#all.length;
  }

  add(each: Each, connection: ClientConnection | undefined): void {
    each.listIndex = this.#all.length;
    each.connection = connection;
    this.#all.push(each);
  }

  /** Removes an entry. The last entry takes its place. */
  remove(each: Each): void {
    const last = this.#all.at(-1);
    if (last === undefined || this.#all[each.listIndex] !== each) return;
    this.#all.pop();
    if (last !== each) {
      this.#all[each.listIndex] = last;
      last.listIndex = each.listIndex;
    }
    each.listIndex = -1;
    each.connection = undefined;
  }

  /**
   * Visits all entries. `visit` may remove entries: the loop runs from the end, so a removal moves only entries that
   * were visited already.
   */
  forEach(visit: (each: Each) => void): void {
    for (let index = this.#all.length - 1; index >= 0; index--) {
      const each = this.#all[index];
      if (each !== undefined) visit(each);
    }
  }
}
