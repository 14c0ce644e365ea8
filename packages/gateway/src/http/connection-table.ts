/**
 * The open connections of clients. When the table is full, a connection without a valid key makes room for a new one,
 * then an idle one with a key; of these, the oldest from the address that has the most. So a client that opens thousands
 * of connections loses its own, and one with few keeps them.
 */

/** A connection as the table sees it. */
export interface TableEntry {
  /** Address of the client. "" if it has closed the connection already. */
  readonly address: string;
  /** Whether the connection can be closed without breaking an answer. */
  readonly isEvictable: boolean;
  /** Whether its client has shown a valid key. Set by the table. */
  isKnown: boolean;
  destroy(): void;
}

/** Number of connections of one address that are looked at for an idle one. */
const TRIED_MAX = 64;

export class ConnectionTable<Each extends TableEntry> {
  readonly #connections = new Set<Each>();
  readonly #strangers = new AddressGroups();
  readonly #known = new AddressGroups();
  connectionsMax: number = Number.POSITIVE_INFINITY;
  /** Number of connections that were closed for another one. */
  evictedCount = 0;

  get size(): number {
    return this.#connections.size;
  }

  [Symbol.iterator](): Iterator<Each> {
    return this.#connections.values();
  }

  add(connection: Each): void {
    this.#connections.add(connection);
    this.#strangers.add(connection);
  }

  /** Counts a connection whose handshake is not complete. */
  addHandshake(entry: TableEntry): void {
    this.#strangers.add(entry);
  }

  /** Called when the client has shown a valid key, or needs none. */
  identified(connection: Each): void {
    if (connection.isKnown || !this.#connections.has(connection)) return;
    this.#strangers.delete(connection);
    this.#known.add(connection);
    connection.isKnown = true;
  }

  delete(entry: TableEntry): void {
    this.#connections.delete(entry as Each);
    (entry.isKnown ? this.#known : this.#strangers).delete(entry);
  }

  /** Makes room for one more connection. Returns false if every connection is in use. */
  makeRoom(): boolean {
    // Clients without a key get at most half of the table, so that those with one need not wait for their end.
    const isFull = this.#strangers.size + this.#known.size >= this.connectionsMax;
    const isCrowded = this.#strangers.size >= Math.max(1, Math.floor(this.connectionsMax / 2));
    if (!isFull && !isCrowded) return true;
    const victim = this.#strangers.oldestOfMost() ?? (isFull ? this.#known.oldestOfMost() : undefined);
    if (victim === undefined) return !isFull;
    this.evictedCount++;
    victim.destroy();
    this.delete(victim);
    return true;
  }
}

/** Connections by address, with the addresses that have the most. Every change takes constant time. */
class AddressGroups {
  readonly #byAddress = new Map<string, Set<TableEntry>>();
  /** Groups by their size. */
  readonly #bySize: Set<Set<TableEntry>>[] = [];
  #sizeMax = 0;
  #count = 0;

  get size(): number {
    return this.#count;
  }

  add(entry: TableEntry): void {
    const key = networkOf(entry.address);
    let group = this.#byAddress.get(key);
    if (group === undefined) this.#byAddress.set(key, (group = new Set()));
    if (group.has(entry)) return;
    this.#bySize[group.size]?.delete(group);
    group.add(entry);
    this.#count++;
    (this.#bySize[group.size] ??= new Set()).add(group);
    this.#sizeMax = Math.max(this.#sizeMax, group.size);
  }

  delete(entry: TableEntry): void {
    const key = networkOf(entry.address);
    const group = this.#byAddress.get(key);
    if (group?.has(entry) !== true) return;
    this.#bySize[group.size]?.delete(group);
    group.delete(entry);
    this.#count--;
    if (group.size === 0) this.#byAddress.delete(key);
    else (this.#bySize[group.size] ??= new Set()).add(group);
    while (this.#sizeMax > 0 && (this.#bySize[this.#sizeMax]?.size ?? 0) === 0) this.#sizeMax--;
  }

  /** The oldest idle connection of an address with the most. Undefined if the first ones are all in use. */
  oldestOfMost(): TableEntry | undefined {
    let tried = 0;
    for (let size = this.#sizeMax; size > 0 && tried < TRIED_MAX; size--) {
      for (const group of this.#bySize[size] ?? []) {
        for (const entry of group) {
          if (entry.isEvictable) return entry;
          tried++;
          if (tried >= TRIED_MAX) return undefined;
        }
      }
    }
    return undefined;
  }
}

/** A client with IPv6 usually has a whole /64: its addresses count as one. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d[\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  // Zeros that `::` leaves out belong to the network where fewer than four groups are before it.
  const missing = tail === undefined ? 0 : Math.max(0, 4 - groups.length);
  return [...groups, ...Array.from({ length: missing }, () => "0")].slice(0, 4).join(":");
}
