/** A minimal driver for tests: every group counts as durable at once, and every batch is checked. */
import { checkBatch, checkInvariants } from "@headroom/engine-oracle";
import type { Input } from "@headroom/model";
import { createEngine, restoreEngine } from "../../src/index.ts";
import type { Engine, JournalGroup, Ready } from "../../src/index.ts";

export class Drive {
  engine: Engine;
  nowMs = 0;
  readonly groups: JournalGroup[] = [];

  constructor(engine: Engine = createEngine()) {
    this.engine = engine;
  }

  receive(...inputs: readonly Input[]): Ready {
    const nominatedBefore = new Set(this.engine.state.nominations.keys());
    const ready = this.engine.receive(inputs, this.nowMs);
    if (ready.group !== null) this.groups.push(ready.group);
    this.engine.advance();
    const broken = [...checkInvariants(this.engine), ...checkBatch(this.engine.state, ready, nominatedBefore)];
    if (broken.length > 0) throw new Error(`at ${this.nowMs} ms: ${broken.join("\n")}`);
    return ready;
  }

  /** Advances time up to, but not including, an instant, and wakes the engine whenever it has requested it. */
  passTo(untilMs: number): Ready[] {
    const rounds: Ready[] = [];
    for (let wake = this.engine.nextWakeAtMs(); wake !== null && wake < untilMs; wake = this.engine.nextWakeAtMs()) {
      this.nowMs = Math.max(this.nowMs, wake);
      rounds.push(this.receive({ kind: "tick" }));
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
    return rounds;
  }

  restart(): void {
    this.engine = restoreEngine(this.engine.snapshot());
  }
}
