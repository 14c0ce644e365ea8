import type { BatchingLimits } from "../limits.ts";
import type { BatchedRequest } from "../requests.ts";

/** Work of a step of the reference kernel, by request. */
export interface ReferenceStep {
  readonly decodeSequences: number;
  readonly contextTokens: number;
  readonly promptTokens: number;
  readonly promptPairs: number;
  readonly started: number[];
  readonly firsts: number[];
  readonly finished: number[];
}

interface Block {
  name: string | undefined;
  holders: number;
}

interface Sequence {
  readonly request: BatchedRequest;
  readonly arrival: number;
  generated: number;
  computed: number;
  blocks: Block[];
  hasStarted: boolean;
  isDecoding: boolean;
}

/**
 * Reference for the batching kernel. It follows the same rules block by block and sequence by sequence, written as
 * plainly as possible: blocks are in a list in the order of their release, which is searched linearly for names. A page
 * is always a single block.
 */
export class ReferenceKernel {
  readonly #limits: BatchingLimits;
  #free: Block[];
  #waiting: Sequence[] = [];
  #running: Sequence[] = [];
  #leaving: Sequence[] = [];
  #arrivals = 0;
  preemptions = 0;
  pagesHit = 0;

  constructor(limits: BatchingLimits) {
    this.#limits = limits;
    this.#free = Array.from({ length: limits.blockCount }, () => ({ name: undefined, holders: 0 }));
  }

  add(request: BatchedRequest): void {
    this.#arrivals += 1;
    const arrival = this.#arrivals;
    this.#waiting.push({
      request,
      arrival,
      generated: 0,
      computed: 0,
      blocks: [],
      hasStarted: false,
      isDecoding: false,
    });
    this.#sort();
  }

  complete(): void {
    for (const sequence of this.#leaving.splice(0)) this.#free.push(...this.#release(sequence));
  }

  schedule(): ReferenceStep {
    const step = {
      decodeSequences: 0,
      contextTokens: 0,
      promptTokens: 0,
      promptPairs: 0,
      started: [] as number[],
      firsts: [] as number[],
      finished: [] as number[],
    };
    const before = this.preemptions;
    while (this.#neededByRunning() > this.#free.length) this.#preempt();
    let left = this.#limits.stepTokensMax;
    for (const sequence of this.#inOrder()) left -= this.#move(sequence, Math.min(this.#missing(sequence), left), step);
    const running = (): number => this.#running.length + this.#leaving.length;
    while (this.preemptions === before && left > 0 && running() < this.#limits.sequencesMax) {
      const sequence = this.#waiting[0];
      const taken = sequence === undefined ? 0 : this.#start(sequence, left, step);
      if (taken === 0) break;
      left -= taken;
    }
    return step;
  }

  #sort(): void {
    this.#waiting.sort((a, b) => a.request.priority - b.request.priority || a.arrival - b.arrival);
  }

  #blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.#limits.blockTokens);
  }

  #missing({ request, generated, computed }: Sequence): number {
    return request.promptTokens + generated - computed;
  }

  #inOrder(): Sequence[] {
    return [...this.#running.filter((one) => one.isDecoding), ...this.#running.filter((one) => !one.isDecoding)];
  }

  #neededByRunning(): number {
    let left = this.#limits.stepTokensMax;
    let needed = 0;
    for (const sequence of this.#inOrder()) {
      const chunk = Math.min(this.#missing(sequence), left);
      left -= chunk;
      needed += this.#blocksFor(sequence.computed + chunk) - sequence.blocks.length;
    }
    return needed;
  }

  #preempt(): void {
    const priority = Math.max(...this.#running.map((one) => one.request.priority));
    const victim = this.#running.findLast((one) => one.request.priority === priority);
    if (victim === undefined) throw new Error("nobody runs");
    this.#running.splice(this.#running.indexOf(victim), 1);
    this.#free.push(...this.#release(victim));
    victim.computed = 0;
    victim.isDecoding = false;
    this.preemptions += 1;
    this.#waiting.push(victim);
    this.#sort();
  }

  #release(sequence: Sequence): Block[] {
    const blocks = sequence.blocks.toReversed();
    sequence.blocks = [];
    for (const block of blocks) block.holders -= 1;
    return blocks.filter((block) => block.holders === 0);
  }

  /**
   * Name of a block of a sequence. Pages of the prompt have names that sequences share; every other block has a unique
   * name.
   */
  #nameOf(sequence: Sequence, index: number): string {
    const page = sequence.request.pages[index];
    return page === undefined ? `own ${sequence.arrival} ${index}` : `page ${page}`;
  }

  #hits(sequence: Sequence, everyBlock: readonly Block[]): Block[] {
    const found: Block[] = [];
    if (!this.#limits.isPrefixCached) return found;
    const whole = Math.floor((this.#missing(sequence) - 1) / this.#limits.blockTokens);
    for (let index = 0; index < whole; index += 1) {
      const block = everyBlock.find((one) => one.name === this.#nameOf(sequence, index));
      if (block === undefined) break;
      found.push(block);
    }
    return found;
  }

  #start(sequence: Sequence, left: number, step: ReferenceStep): number {
    const hits = this.#hits(sequence, this.#everyBlock());
    const target = this.#missing(sequence);
    const loaded = Math.min(sequence.request.loadedTokens, target - 1);
    const whole = Math.max(hits.length, Math.floor(loaded / this.#limits.blockTokens));
    const hitTokens = whole * this.#limits.blockTokens;
    const chunk = Math.min(target - hitTokens, left);
    if (!this.#limits.isPromptChunked && chunk < target - hitTokens) return 0;
    const until = this.#limits.admission === "wholePrompt" ? target : hitTokens + chunk;
    const isAlone = this.#running.length + this.#leaving.length === 0;
    const room = this.#free.length - hits.filter((block) => block.holders === 0).length;
    const wanted = this.#blocksFor(until) - hits.length;
    if (wanted + (isAlone ? 0 : this.#limits.watermarkBlocks) > room) return 0;
    this.#waiting.shift();
    this.#running.push(sequence);
    for (const block of hits) block.holders += 1;
    this.#free = this.#free.filter((block) => block.holders === 0);
    // Cached blocks of this sequence that it does not reuse now lose their names, because the sequence computes them
    // again.
    for (const block of this.#free)
      if (block.name?.startsWith(`own ${sequence.arrival} `) === true) block.name = undefined;
    sequence.blocks = hits;
    sequence.computed = hitTokens;
    if (!sequence.hasStarted) {
      step.started.push(sequence.request.id);
      this.pagesHit += Math.min(hits.length, sequence.request.pages.length);
    }
    sequence.hasStarted = true;
    return this.#move(sequence, chunk, step, hits.length);
  }

  #everyBlock(): Block[] {
    return [...this.#free, ...[...this.#running, ...this.#leaving].flatMap((one) => one.blocks)];
  }

  #move(sequence: Sequence, chunk: number, step: ReferenceStep, namedBlocks?: number): number {
    const mutable = step as { -readonly [Name in keyof ReferenceStep]: ReferenceStep[Name] };
    const from = sequence.computed;
    while (sequence.blocks.length < this.#blocksFor(from + chunk)) {
      const block = this.#free.shift();
      if (block === undefined) throw new Error("no block is free");
      block.name = undefined;
      block.holders = 1;
      sequence.blocks.push(block);
    }
    sequence.computed = from + chunk;
    const names = new Set(this.#everyBlock().map((block) => block.name));
    const firstOpen = namedBlocks ?? Math.floor(from / this.#limits.blockTokens);
    const whole = Math.floor(sequence.computed / this.#limits.blockTokens);
    for (const [index, block] of sequence.blocks.slice(0, whole).entries()) {
      const name = this.#nameOf(sequence, index);
      if (index >= firstOpen && !names.has(name)) block.name = name;
    }
    if (sequence.isDecoding) {
      mutable.decodeSequences += 1;
      mutable.contextTokens += sequence.computed;
    } else {
      mutable.promptTokens += chunk;
      mutable.promptPairs += chunk * from + (chunk * (chunk + 1)) / 2;
    }
    if (this.#missing(sequence) > 0) return chunk;
    sequence.generated += 1;
    sequence.isDecoding = true;
    if (sequence.generated === 1) step.firsts.push(sequence.request.id);
    if (sequence.generated === sequence.request.outputTokens) {
      step.finished.push(sequence.request.id);
      this.#running.splice(this.#running.indexOf(sequence), 1);
      this.#leaving.push(sequence);
    }
    return chunk;
  }
}
