/**
 * A map from ids to values, in order of insertion like `Map`. V8 interns every string that becomes a key of a `Map`, and
 * takes it out of its table of strings later. For the id of a short-lived entity this costs more than all lookups. This
 * map hashes the text of an id itself and leaves the string as it is.
 */

const CAPACITY_MIN = 4;
/** A storage of at least this capacity is replaced by a smaller one when only an eighth of it is in use. */
const CAPACITY_SHRUNK_MIN = 64;
/** Up to this number of entries, a storage has more space for entries that come and go, so that it is replaced seldom. */
const SMALL_COUNT = 512;

/**
 * The entries in order of insertion, with a chain of entries for each hash bucket. A removed entry leaves a gap until
 * the storage is replaced. Links are positions plus one, so that 0 means none.
 */
class Storage<Id extends string, Value> {
  readonly capacity: number;
  /** Id and value of each entry, `undefined` in gaps. They are neighbours because they are read together. */
  readonly #slots: (Id | Value | undefined)[];
  /** First the link to the first entry of each bucket; then, for each entry, the link to the next one, and its hash. */
  readonly #links: Int32Array;
  /** Number of entries, gaps included. */
  length = 0;
  /** The storage that replaced this one. Iterators that are under way continue there. */
  successor: Storage<Id, Value> | null = null;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#slots = new Array<Id | Value | undefined>(2 * capacity);
    this.#links = new Int32Array(3 * capacity);
  }

  idAt(at: number): Id | undefined {
    return this.#slots[2 * at] as Id | undefined;
  }

  valueAt(at: number): Value {
    return this.#slots[2 * at + 1] as Value;
  }

  setValueAt(at: number, value: Value): void {
    this.#slots[2 * at + 1] = value;
  }

  /** The position of the id, or -1. */
  find(id: Id, hash: number): number {
    const links = this.#links;
    const { capacity } = this;
    let at = (links[bucketOf(hash, capacity)] as number) - 1;
    while (at >= 0 && (links[capacity + 2 * at + 1] !== hash || this.#slots[2 * at] !== id))
      at = (links[capacity + 2 * at] as number) - 1;
    return at;
  }

  append(id: Id, hash: number, value: Value): void {
    const links = this.#links;
    const { capacity } = this;
    const at = this.length++;
    const bucket = bucketOf(hash, capacity);
    this.#slots[2 * at] = id;
    this.#slots[2 * at + 1] = value;
    links[capacity + 2 * at] = links[bucket] as number;
    links[capacity + 2 * at + 1] = hash;
    links[bucket] = at + 1;
  }

  remove(at: number): void {
    const links = this.#links;
    const { capacity } = this;
    const own = capacity + 2 * at;
    let link = bucketOf(links[own + 1] as number, capacity);
    while (links[link] !== at + 1) link = capacity + 2 * ((links[link] as number) - 1);
    links[link] = links[own] as number;
    this.#slots[2 * at] = undefined;
    this.#slots[2 * at + 1] = undefined;
  }

  /** Replaces this storage by one without gaps, which has space for further entries. */
  replaced(entryCount: number): Storage<Id, Value> {
    let capacity = CAPACITY_MIN;
    while (capacity < entryCount * (entryCount <= SMALL_COUNT ? 3 : 1.5)) capacity *= 2;
    const next = new Storage<Id, Value>(capacity);
    for (let at = 0; at < this.length; at++) {
      const id = this.idAt(at);
      if (id !== undefined) next.append(id, this.#links[this.capacity + 2 * at + 1] as number, this.valueAt(at));
    }
    this.successor = next;
    return next;
  }
}

const bucketOf = (hash: number, capacity: number): number => (hash ^ (hash >>> 15)) & (capacity - 1);

let lastId = "";
let lastHash = 0;
let idBefore = "";
let hashBefore = 0;

/** The last two hashes are kept: an event about an attempt looks up its id, and that of its workload, in several maps. */
function hashOf(id: string): number {
  if (id === lastId) return lastHash;
  if (id === idBefore) return hashBefore;
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
  idBefore = lastId;
  hashBefore = lastHash;
  lastId = id;
  lastHash = hash;
  return hash;
}

/** An iteration. Like those of `Map`, it sees entries that are added meanwhile and skips those that are removed. */
class Cursor<Id extends string, Value> {
  #storage: Storage<Id, Value>;
  #at = -1;

  constructor(storage: Storage<Id, Value>) {
    this.#storage = storage;
  }

  get id(): Id {
    return this.#storage.idAt(this.#at) as Id;
  }

  get value(): Value {
    return this.#storage.valueAt(this.#at);
  }

  /** Moves to the next entry. Returns false if there is none. */
  advance(): boolean {
    while (this.#storage.successor !== null) this.#follow(this.#storage.successor);
    do this.#at++;
    while (this.#at < this.#storage.length && this.#storage.idAt(this.#at) === undefined);
    return this.#at < this.#storage.length;
  }

  /** Moves to the same position in the successor: after the entries that were passed and not removed before. */
  #follow(successor: Storage<Id, Value>): void {
    let last = -1;
    for (let at = 0; at <= this.#at; at++) if (this.#storage.idAt(at) !== undefined) last++;
    this.#storage = successor;
    this.#at = last;
  }
}

export class IdMap<Id extends string, Value> implements Map<Id, Value> {
  #storage: Storage<Id, Value> = new Storage(CAPACITY_MIN);
  #size = 0;

  constructor(entries: Iterable<readonly [Id, Value]> = []) {
    for (const [id, value] of entries) this.set(id, value);
  }

  get size(): number {
    return this.#size;
  }

  get [Symbol.toStringTag](): string {
    return "IdMap";
  }

  get(id: Id): Value | undefined {
    const storage = this.#storage;
    const at = storage.find(id, hashOf(id));
    return at < 0 ? undefined : storage.valueAt(at);
  }

  has(id: Id): boolean {
    return this.#storage.find(id, hashOf(id)) >= 0;
  }

  set(id: Id, value: Value): this {
    const hash = hashOf(id);
    const at = this.#storage.find(id, hash);
    if (at >= 0) {
      this.#storage.setValueAt(at, value);
      return this;
    }
    if (this.#storage.length === this.#storage.capacity) this.#storage = this.#storage.replaced(this.#size);
    this.#storage.append(id, hash, value);
    this.#size++;
    return this;
  }

  delete(id: Id): boolean {
    const at = this.#storage.find(id, hashOf(id));
    if (at < 0) return false;
    this.#remove(at);
    return true;
  }

  #remove(at: number): void {
    const { capacity } = this.#storage;
    this.#storage.remove(at);
    this.#size--;
    if (capacity >= CAPACITY_SHRUNK_MIN && this.#size * 8 < capacity)
      this.#storage = this.#storage.replaced(this.#size);
  }

  /** Removes the entry and returns its value; `undefined`: there is none. */
  take(id: Id): Value | undefined {
    const at = this.#storage.find(id, hashOf(id));
    if (at < 0) return undefined;
    const value = this.#storage.valueAt(at);
    this.#remove(at);
    return value;
  }

  clear(): void {
    for (const id of this.keys()) this.delete(id);
  }

  forEach(visit: (value: Value, id: Id, map: Map<Id, Value>) => void): void {
    for (const [id, value] of this) visit(value, id, this);
  }

  *entries(): Generator<[Id, Value], undefined> {
    for (const cursor = new Cursor(this.#storage); cursor.advance();) yield [cursor.id, cursor.value];
  }

  *keys(): Generator<Id, undefined> {
    for (const cursor = new Cursor(this.#storage); cursor.advance();) yield cursor.id;
  }

  *values(): Generator<Value, undefined> {
    for (const cursor = new Cursor(this.#storage); cursor.advance();) yield cursor.value;
  }

  [Symbol.iterator](): Generator<[Id, Value], undefined> {
    return this.entries();
  }
}
