/** A fleet whose nodes a provider takes away and replaces, group by group, while gangs run on it. */
import { nodeId } from "@headroom/model";
import type { Input } from "@headroom/model";
import { createEngine } from "../../src/index.ts";
import type { Engine, Ready } from "../../src/index.ts";
import { applied, command, node, pool, site, spec } from "./make.ts";

export interface SpotFleetSize {
  readonly nodes: number;
  /** Number of nodes that leave, and of nodes that join, in one batch. */
  readonly groupSize: number;
  readonly gangs: number;
}

/** One node id of constant length for every node that ever joins. */
const idOf = (number: number): string => `spot-${String(number).padStart(9, "0")}`;

export class SpotFleet {
  readonly engine: Engine = createEngine();
  nowMs = 0;
  readonly #size: SpotFleetSize;
  #joinedCount = 0;
  #goneCount = 0;
  /** Called with every batch. */
  readonly #onReady: (ready: Ready) => void;

  constructor(size: SpotFleetSize, onReady: (ready: Ready) => void = () => {}) {
    this.#size = size;
    this.#onReady = onReady;
    this.#receive([applied({ sites: [site], pools: [pool("H100")] }), ...this.#join(size.nodes)]);
    this.#receive(
      Array.from({ length: size.gangs }, (_, index) =>
        command({
          kind: "submitWorkload",
          spec: spec(`w${index}`, {
            gang: { workers: 2, accelerators: 8 },
            retries: { max: 1_000_000, backoffMs: 1_000, backoffMaxMs: 1_000 },
          }),
        }),
      ),
    );
  }

  /** Every node is replaced once: some are lost before they are removed, others are removed with their work. */
  replaceAll(): void {
    for (let count = 0; count < this.#size.nodes; count += this.#size.groupSize) this.#replaceGroup();
  }

  #replaceGroup(): void {
    const gone = Array.from({ length: this.#size.groupSize }, () => nodeId(idOf(this.#goneCount++)));
    const lost = gone.filter((_, index) => index % 2 === 0);
    this.nowMs += 10_000;
    this.#receive(lost.map((id): Input => ({ kind: "nodeUnreachable", nodeId: id, detail: "taken back" })));
    this.#receive(gone.map((id) => command({ kind: "removeNode", nodeId: id, running: "requeue" })));
    this.#receive(this.#ends());
    this.#receive(this.#join(this.#size.groupSize));
    // The back-off of the stopped gangs ends.
    this.nowMs += 10_000;
    this.#receive([{ kind: "tick" }]);
  }

  #join(count: number): readonly Input[] {
    return Array.from({ length: count }, () => ({
      kind: "nodeSeen",
      node: node(idOf(this.#joinedCount++), "H100", { labels: { zone: "a" } }),
    }));
  }

  /** The executor reports that the workers of stopped attempts have ended. */
  #ends(): readonly Input[] {
    return [...this.engine.state.attempts.values()].flatMap(({ id, stop }): readonly Input[] =>
      stop === null
        ? []
        : [{ kind: "attemptExited", attemptId: id, exits: [{ kind: "signalled", worker: 0, signal: "SIGTERM" }] }],
    );
  }

  #receive(inputs: readonly Input[]): void {
    if (inputs.length === 0) return;
    const ready = this.engine.receive(inputs, this.nowMs);
    this.engine.advance();
    this.#onReady(ready);
  }
}
