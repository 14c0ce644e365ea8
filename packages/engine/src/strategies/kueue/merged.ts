/** Several sorted queues merged into one: a binary heap of their heads. */
export interface SortedQueue<Item> {
  head(): Item | undefined;
  pop(): Item;
}

export class Merged<Item, Queue extends SortedQueue<Item>> {
  readonly #heap: Queue[];
  readonly #order: (left: Item, right: Item) => number;

  /** `order` is total over the items of all queues, and each queue is sorted by it. */
  constructor(queues: readonly Queue[], order: (left: Item, right: Item) => number) {
    this.#order = order;
    this.#heap = queues.filter((queue) => queue.head() !== undefined);
    for (let index = (this.#heap.length >> 1) - 1; index >= 0; index--) this.#sink(index);
  }

  /** Takes the first item of all queues. Returns it with the queue that contained it. */
  pop(): { readonly item: Item; readonly queue: Queue } | undefined {
    const queue = this.#heap[0];
    if (queue === undefined) return undefined;
    const item = queue.pop();
    if (queue.head() === undefined) {
      const last = this.#heap.pop() as Queue;
      if (this.#heap.length > 0) this.#heap[0] = last;
    }
    this.#sink(0);
    return { item, queue };
  }

  #sink(start: number): void {
    const heap = this.#heap;
    for (let index = start; ;) {
      const left = 2 * index + 1;
      let first = index;
      if (left < heap.length && this.#comesBefore(left, first)) first = left;
      if (left + 1 < heap.length && this.#comesBefore(left + 1, first)) first = left + 1;
      if (first === index) return;
      const last = heap[index] as Queue;
      heap[index] = heap[first] as Queue;
      heap[first] = last;
      index = first;
    }
  }

  #comesBefore(left: number, right: number): boolean {
    const leftItem = (this.#heap[left] as Queue).head() as Item;
    return this.#order(leftItem, (this.#heap[right] as Queue).head() as Item) < 0;
  }
}
