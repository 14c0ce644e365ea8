/**
 * Engines that repeat every second round on a freshly restored engine. The restored engine must record, request and
 * answer the same (DESIGN §7.14, 16), and a further round must decide nothing.
 */
import { createEngine, restoreEngine } from "@headroom/engine";
import type { Engine, Ready, ReadonlyState } from "@headroom/engine";
import type { Effect, Input } from "@headroom/model";
import { checkInvariants } from "@headroom/engine-oracle";
import { Violation, type EngineSource } from "@headroom/sim";

/**
 * Only every n-th round is repeated: restoring an engine takes longer than a round, and checking all its data takes
 * much longer.
 */
const ROUNDS_PER_LOOK = 2;
const ROUNDS_PER_COUNT = 15;

export const enginesDecidedAnew: EngineSource = {
  create: () => new DecidedAnew(createEngine()),
  restore: (snapshot) => new DecidedAnew(restoreEngine(snapshot)),
};

class DecidedAnew implements Engine {
  readonly #engine: Engine;
  #roundCount = 0;
  #lastMs = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get state(): ReadonlyState {
    return this.#engine.state;
  }

  get fleetEpoch(): number {
    return this.#engine.fleetEpoch;
  }

  receive(inputs: readonly Input[], nowMs: number): Ready {
    const looks = this.#roundCount++ % ROUNDS_PER_LOOK === 0;
    const ready = looks ? this.#receiveTwice(inputs, nowMs) : this.#engine.receive(inputs, nowMs);
    if (this.#roundCount % ROUNDS_PER_COUNT === 0) mustCountRight(this.#engine, nowMs);
    this.#lastMs = nowMs;
    return ready;
  }

  /** In every other case the further round runs before the repetition. */
  #receiveTwice(inputs: readonly Input[], nowMs: number): Ready {
    const anew = restoreEngine(this.#engine.snapshot());
    if (this.#roundCount % (2 * ROUNDS_PER_LOOK) === 1) this.#mustHaveLeftNothing(anew);
    const ready = this.#engine.receive(inputs, nowMs);
    const again = anew.receive(inputs, nowMs);
    for (const part of ["events", "effects", "replies"] as const) mustEqual(part, ready[part], again[part], nowMs);
    return ready;
  }

  #mustHaveLeftNothing(anew: Engine): void {
    const [more] = anew.receive([{ kind: "tick" }], this.#lastMs).events;
    if (more !== undefined)
      throw new Violation(`the round at ${this.#lastMs} ms left undone what a tick would do: ${JSON.stringify(more)}`);
    anew.advance();
  }

  advance(): void {
    this.#engine.advance();
  }

  nextWakeAtMs(): number | null {
    return this.#engine.nextWakeAtMs();
  }

  outstandingEffects(): readonly Effect[] {
    return this.#engine.outstandingEffects();
  }

  digest(): string {
    return this.#engine.digest();
  }

  snapshot(): Uint8Array {
    return this.#engine.snapshot();
  }
}

function mustEqual(part: string, lived: readonly unknown[], anew: readonly unknown[], nowMs: number): void {
  const expected = lived.map((each) => JSON.stringify(each));
  const got = anew.map((each) => JSON.stringify(each));
  if (expected.join() === got.join()) return;
  const at = expected.findIndex((text, index) => text !== got[index]);
  const index = at < 0 ? expected.length : at;
  throw new Violation(
    `decided anew at ${nowMs} ms, ${part} ${index} is ${got[index] ?? "none"} and was ${expected[index] ?? "none"}`,
  );
}

function mustCountRight(engine: Engine, nowMs: number): void {
  const broken = checkInvariants(engine);
  if (broken.length > 0) throw new Violation(`at ${nowMs} ms: ${broken.join("; ")}`);
}
