/** Passes reports to the listener, and keeps those that come before it. Waits while the listener has no space. */
import type { ExecutorInput, ExecutorListener } from "../executor.ts";

export class Reporter {
  #untold: ExecutorInput[] | null = [];
  #listener: ExecutorListener | null = null;
  #room: Promise<void> | null = null;
  #isClosed = false;
  readonly #onTold: (input: ExecutorInput) => void;

  /** `onTold`: called with each report. */
  constructor(onTold: (input: ExecutorInput) => void = () => {}) {
    this.#onTold = onTold;
  }

  /** Called once. Resolves when what came before is told. */
  async listen(listener: ExecutorListener): Promise<void> {
    if (this.#listener !== null) throw new Error("the executor is watched already");
    this.#listener = listener;
    const untold = this.#untold ?? [];
    this.#untold = null;
    for (const input of untold) this.tell(input);
    await this.untilRoom();
  }

  tell(input: ExecutorInput): void {
    if (this.#isClosed) return;
    if (this.#listener === null) {
      this.#untold?.push(input);
      return;
    }
    this.#onTold(input);
    const room = this.#listener(input);
    if (!(room instanceof Promise) || room === this.#room) return;
    this.#room = room;
    void room.finally(() => {
      if (this.#room === room) this.#room = null;
    });
  }

  /** Whether the listener has no space at present. */
  get isFull(): boolean {
    return this.#room !== null;
  }

  /** Attempts are read one after the other: the first ones may fill the listener's inbox again. */
  async untilRoom(): Promise<void> {
    while (this.#room !== null && !this.#isClosed) await this.#room;
  }

  close(): void {
    this.#isClosed = true;
  }
}
