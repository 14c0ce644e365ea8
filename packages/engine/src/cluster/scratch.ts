/**
 * Caches that other folders keep beside the indexes: fair shares of the last round, protected starts, scores. A folder
 * declares a slot and is its only writer, so the indexes do not depend on its types. Caches are not state: a rebuilt
 * world starts with empty slots and decides the same.
 */
export class Slot<T> {
  static #count = 0;
  readonly index: number = Slot.#count++;
  readonly initial: () => T;
  /** Whether the value stays valid when recorded events are undone (`apply/undo-log.ts`). */
  readonly survivesUndo: boolean;

  constructor(initial: () => T, options: { readonly survivesUndo: boolean }) {
    this.initial = initial;
    this.survivesUndo = options.survivesUndo;
  }
}

export class Scratch {
  readonly #values: unknown[] = [];
  readonly #slots: Slot<unknown>[] = [];

  get<T>(slot: Slot<T>): T {
    const { index } = slot;
    if (this.#slots[index] === undefined) this.set(slot, slot.initial());
    return this.#values[index] as T;
  }

  set<T>(slot: Slot<T>, value: T): void {
    this.#slots[slot.index] = slot;
    this.#values[slot.index] = value;
  }

  /** Resets the slots whose value may depend on undone events. */
  forgetUndone(): void {
    for (const slot of this.#slots) if (slot !== undefined && !slot.survivesUndo) this.set(slot, slot.initial());
  }
}
