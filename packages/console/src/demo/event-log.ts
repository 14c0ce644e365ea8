/** The newest events of the demo, for its event stream. Older events are dropped: there is no journal. */
import type { EventEnvelope } from "@headroom/protocol";

/** Maximum number of events kept: those of several simulated days, a few tens of MiB. */
const EVENTS_KEPT = 60_000;
/** Number of events dropped at a time. Dropping moves the whole array, so many are dropped at once. */
const SLACK = 10_000;

export class EventLog {
  #kept: EventEnvelope[] = [];
  #wake: () => void = () => undefined;
  #grown: Promise<void>;

  constructor() {
    this.#grown = new Promise((resolve) => (this.#wake = resolve));
  }

  append(envelope: EventEnvelope): void {
    this.#kept.push(envelope);
    if (this.#kept.length > EVENTS_KEPT + SLACK) this.#kept = this.#kept.slice(-EVENTS_KEPT);
  }

  /** Wakes waiting readers. One call covers many events. */
  announce(): void {
    const wake = this.#wake;
    this.#grown = new Promise((resolve) => (this.#wake = resolve));
    wake();
  }

  get lastSequence(): number {
    return this.#kept.at(-1)?.sequence ?? 0;
  }

  /**
   * Events from `from` on (or from the oldest one kept), then new events. The sequence ends when `stopped` resolves.
   */
  async *read(from: number, stopped: Promise<void>): AsyncGenerator<EventEnvelope> {
    let next = from;
    let isStopped = false;
    void stopped.then(() => (isStopped = true));
    while (!isStopped) {
      const grown = this.#grown;
      const oldest = this.#kept[0]?.sequence ?? next;
      let envelope = this.#kept[Math.max(next, oldest) - oldest];
      while (envelope !== undefined && !isStopped) {
        next = envelope.sequence + 1;
        yield envelope;
        envelope = this.#kept[next - (this.#kept[0]?.sequence ?? next)];
      }
      await Promise.race([grown, stopped]);
    }
  }
}
