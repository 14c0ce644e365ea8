/**
 * Requests in progress. Not a Map: with one insertion and one deletion per request its table is rebuilt all the time, each old
 * table points to its successor, and once one of them is in V8's old space, the chain keeps every request since then alive
 * until the next full collection. That took a third of all garbage through the old space.
 */
import type { ClientConnection } from "../http/client-connection.ts";

/** Place of a request in the list. */
export interface Listed {
  listIndex: number;
  /** The client's connection that waits for the response; undefined if the gateway itself waits. */
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

  /** The last entry takes the place of the removed one. */
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

  /** `visit` may remove entries: the loop runs from the end, so a removal moves only visited entries. */
  forEach(visit: (each: Each) => void): void {
    for (let index = this.#all.length - 1; index >= 0; index--) {
      const each = this.#all[index];
      if (each !== undefined) visit(each);
    }
  }
}
