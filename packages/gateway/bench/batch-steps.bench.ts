/**
 * Cost of batch lines for the first token of other requests in virtual time: the pool's queue before an engine whose steps take as long
 * as those of `step-engine.ts`, without a network and without a process that is late. `--hours 1 --seeds 4 --slots 32 --load 0.4`
 */
import { FairQueue, type FairRequest, type FairTurn } from "../src/fairness/fair-queue.ts";
import { measuredBar, numberArgument, quantile, report } from "./harness.ts";
import { PROMPT_TOKEN_MS, SEQUENCE_MS, STEP_MS, STEP_TOKENS_MAX } from "./step-engine.ts";

const hours = numberArgument("hours", 1);
const seeds = numberArgument("seeds", 4);
const slots = numberArgument("slots", 32);
const load = numberArgument("load", 0.4);
/** Lines that wait at any time. */
const LINES = 4 * slots;
const OUTPUT_MEAN = 32;
/** A token takes about this time, and a prompt the other one. */
const [TOKEN_MS, FIRST_MS] = [24, 100];

interface Sequence {
  readonly isLine: boolean;
  readonly arrivedAtMs: number;
  readonly outputTokens: number;
  promptLeft: number;
  sent: number;
  turn?: FairTurn;
}

interface Run {
  readonly ttfts: readonly number[];
  readonly filledShare: number;
}

/** Numbers from 0 to 1 that repeat in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 4_294_967_296;
  };
}

class VirtualPool {
  readonly #queue = new FairQueue(() => ({ slots, waitingMax: 100_000, waitingBytesMax: 1e12 }));
  readonly #draw: () => number;
  readonly #drawLine = seeded(7);
  readonly #arrivesEveryMs = (OUTPUT_MEAN * TOKEN_MS + FIRST_MS) / (load * slots);
  readonly #ttfts: number[] = [];
  #running: Sequence[] = [];
  #nowMs = 0;
  #nextMs = 0;
  #chatSlotMs = 0;
  #lineSlotMs = 0;

  constructor(seed: number) {
    this.#draw = seeded(seed);
  }

  run(lines: number): Run {
    for (let line = 0; line < lines; line += 1) this.#sendLine();
    const endMs = 3_600_000 * hours;
    while (this.#nowMs < endMs) {
      this.#arrive();
      if (this.#running.length === 0) this.#nowMs = this.#nextMs;
      else this.#step();
    }
    return { ttfts: this.#ttfts, filledShare: this.#lineSlotMs / (slots * this.#nowMs - this.#chatSlotMs) };
  }

  #arrive(): void {
    while (this.#nextMs <= this.#nowMs) {
      const [promptLeft, outputTokens] = [50 + this.#upTo(200), 1 + this.#upTo(2 * OUTPUT_MEAN)];
      this.#send({ isLine: false, arrivedAtMs: this.#nextMs, outputTokens, promptLeft, sent: 0 });
      this.#nextMs -= Math.log(this.#draw()) * this.#arrivesEveryMs;
    }
  }

  #upTo(count: number): number {
    return Math.floor(count * this.#draw());
  }

  #sendLine(): void {
    const promptLeft = 30 + Math.floor(60 * this.#drawLine());
    const outputTokens = 20 + Math.floor(80 * this.#drawLine());
    this.#send({ isLine: true, arrivedAtMs: this.#nowMs, outputTokens, promptLeft, sent: 0 });
  }

  #send(sequence: Sequence): void {
    const { isLine, promptLeft, outputTokens } = sequence;
    const start = (): void => {
      // A line that was stopped continues its answer, which the engine reads again.
      sequence.promptLeft = promptLeft + sequence.sent;
      this.#running.push(sequence);
    };
    const request: FairRequest = {
      team: isLine ? "nightly" : "chat",
      weight: 1,
      isBatch: isLine,
      priority: "normal",
      promptTokens: promptLeft,
      outputMax: outputTokens,
      bytes: 1,
      start,
      giveWay: () => {
        this.#running = this.#running.filter((one) => one !== sequence);
        return true;
      },
      displaced: () => {},
    };
    const turn = this.#queue.take(request);
    if (turn === undefined) throw new RangeError("the queue is full");
    sequence.turn = turn;
    if (turn.state === "running") start();
  }

  #step(): void {
    let budget = STEP_TOKENS_MAX - this.#running.length;
    let promptTokens = 0;
    const decoding: Sequence[] = [];
    for (const sequence of this.#running) {
      const chunk = Math.min(budget, sequence.promptLeft);
      budget -= chunk;
      promptTokens += chunk;
      sequence.promptLeft -= chunk;
      if (sequence.promptLeft === 0) decoding.push(sequence);
    }
    const stepMs = STEP_MS + SEQUENCE_MS * this.#running.length + PROMPT_TOKEN_MS * promptTokens;
    const lines = this.#running.filter(({ isLine }) => isLine).length;
    this.#lineSlotMs += lines * stepMs;
    this.#chatSlotMs += (this.#running.length - lines) * stepMs;
    this.#nowMs += stepMs;
    // Requests that arrived during the step come before what its end starts.
    this.#arrive();
    for (const sequence of decoding) this.#decoded(sequence);
  }

  #decoded(sequence: Sequence): void {
    // It was stopped during the step.
    if (sequence.promptLeft > 0 || !this.#running.includes(sequence)) return;
    sequence.sent += 1;
    if (sequence.sent === 1 && !sequence.isLine) this.#ttfts.push(this.#nowMs - sequence.arrivedAtMs);
    if (sequence.sent < sequence.outputTokens) return;
    this.#running = this.#running.filter((one) => one !== sequence);
    sequence.turn?.end({ promptTokens: 1, outputTokens: sequence.sent });
    if (sequence.isLine) this.#sendLine();
  }
}

const costs: number[] = [];
const shares: number[] = [];
for (let seed = 1; seed <= seeds; seed += 1) {
  const alone = new VirtualPool(seed).run(0);
  const beside = new VirtualPool(seed).run(LINES);
  const costOf = (share: number): number => 100 * (quantile(beside.ttfts, share) / quantile(alone.ttfts, share) - 1);
  costs.push(costOf(0.99));
  shares.push(100 * beside.filledShare);
  report(
    JSON.stringify({
      case: `seed ${seed}`,
      streams: alone.ttfts.length,
      idle_filled_pct: Number((100 * beside.filledShare).toFixed(1)),
      ttft_p99_alone_ms: Number(quantile(alone.ttfts, 0.99).toFixed(1)),
      ttft_p50_cost_pct: Number(costOf(0.5).toFixed(1)),
      ttft_p99_cost_pct: Number(costOf(0.99).toFixed(1)),
    }),
  );
}
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
measuredBar(mean(shares) > 90, `lines took ${mean(shares).toFixed(1)}% of the idle slot time, not over 90%`);
measuredBar(mean(costs) <= 5, `the p99 of the first token rose by ${mean(costs).toFixed(1)}%, not at most 5%`);
