import { DecodingSet } from "./decoding-set.ts";
import type { CoastingClock } from "./decoding-set.ts";
import { KvBlocks } from "./kv-blocks.ts";
import { limitProblem } from "./limits.ts";
import type { BatchingLimits } from "./limits.ts";
import { LevelLists, noSlot, RequestTable } from "./requests.ts";
import type { BatchedRequest } from "./requests.ts";
import type { StepCosts, StepLoad } from "./step-costs.ts";

/**
 * One step: its work, and the requests that it affects. The object is valid until the fourth step after it is
 * scheduled.
 */
export interface Step {
  readonly load: StepLoad;
  /** Requests that leave the queue for the first time in this step. */
  readonly started: number[];
  /** Requests that get their first output token from this step. */
  readonly firsts: number[];
  /** Requests that get their last output token from this step. */
  readonly finished: number[];
}

interface OwnStep extends Step {
  readonly endingSlots: number[];
}

/** Counts since the engine's start. */
export interface BatchingTotals {
  readonly steps: number;
  readonly preemptions: number;
  /**
   * Number of prefix pages that requests named at their first start; the following field: number of them that were
   * cached.
   */
  readonly pagesAsked: number;
  readonly pagesHit: number;
  /** Number of prompt tokens of started requests; the following field: number of them that came from the cache. */
  readonly promptTokens: number;
  readonly promptTokensHit: number;
  readonly outputTokens: number;
}

/** Maximum number of priorities in use at once: each costs a list. */
export const priorityCountMax = 64;

const waiting = 0;
const computingPrompt = 1;
const decoding = 2;
/** The last token is being computed: the sequence holds its blocks until the step is complete. */
const ending = 3;

function emptyStep(): OwnStep {
  return {
    load: { decodeSequences: 0, contextTokens: 0, promptTokens: 0, promptPairs: 0, promptsEnding: 0 },
    started: [],
    firsts: [],
    finished: [],
    endingSlots: [],
  };
}

/**
 * Continuous batching of one engine, as vLLM V1 schedules (`vllm/v1/core/sched/scheduler.py`): running sequences decode
 * one token each, and the rest of the step's token budget goes to prompts in the order of arrival. When the cache is
 * full, the newest sequence of the lowest priority is preempted and computed again later. The kernel has no clock.
 * `schedule` decides a step; `complete` states that its tokens are computed. An engine that schedules one step ahead
 * calls `schedule` again before `complete`: blocks that a step frees then become available one step later.
 */
export class BatchingKernel {
  readonly limits: BatchingLimits;
  readonly #pageTokens: number;
  readonly #table = new RequestTable();
  readonly #levelOrder: number[] = [];
  readonly #priorities: number[] = [];
  readonly #waiting: LevelLists;
  readonly #running: LevelLists;
  readonly #prompts: number[] = [];
  readonly #decoding: DecodingSet;
  readonly #blocks: KvBlocks;
  readonly #steps = [emptyStep(), emptyStep(), emptyStep(), emptyStep()];
  /** Number of steps that `schedule` returned; `coast` runs further steps without it. */
  #scheduledCount = 0;
  #endingCount = 0;
  /**
   * True: the head of the queue cannot start before a sequence ends, because the number of free blocks only falls until
   * then.
   */
  #isHeadBlocked = false;
  #begunCount = 0;
  readonly #byBegin = (a: number, b: number): number => (this.#table.begun[a] ?? 0) - (this.#table.begun[b] ?? 0);
  readonly #totals = {
    steps: 0,
    preemptions: 0,
    pagesAsked: 0,
    pagesHit: 0,
    promptTokens: 0,
    promptTokensHit: 0,
    outputTokens: 0,
  };

  /** `pageTokens`: tokens of a prefix page, a multiple of a block's tokens. Throws RangeError on invalid limits. */
  constructor(limits: BatchingLimits, pageTokens: number = limits.blockTokens) {
    const problem = limitProblem(limits);
    if (problem !== undefined) throw new RangeError(problem);
    if (!Number.isSafeInteger(pageTokens) || pageTokens < 1 || pageTokens % limits.blockTokens !== 0) {
      throw new RangeError(`a page of ${pageTokens} tokens is not a multiple of a block of ${limits.blockTokens}`);
    }
    this.limits = limits;
    this.#pageTokens = pageTokens;
    this.#waiting = new LevelLists(this.#table, this.#levelOrder);
    this.#running = new LevelLists(this.#table, this.#levelOrder);
    this.#decoding = new DecodingSet(this.#table, limits.blockTokens);
    this.#blocks = new KvBlocks(limits.blockCount, limits.isPrefixCached);
  }

  get totals(): BatchingTotals {
    return this.#totals;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Number of sequences that hold blocks. */
  get runningCount(): number {
    return this.#running.length + this.#endingCount;
  }

  get isIdle(): boolean {
    return this.runningCount === 0 && this.#waiting.length === 0;
  }

  /** Number of blocks that sequences hold; never more than `limits.blockCount`. */
  get heldBlocks(): number {
    return this.#blocks.heldCount;
  }

  /** Number of cached pages. */
  get cachedPages(): number {
    return this.#blocks.pageCount;
  }

  /** The reason why the engine can never serve such a request; `undefined`: it can. */
  refusal(request: BatchedRequest): string | undefined {
    const { promptTokens, outputTokens, priority } = request;
    if (!Number.isSafeInteger(promptTokens) || promptTokens < 1) return `promptTokens is ${promptTokens}: at least 1`;
    if (!Number.isSafeInteger(outputTokens) || outputTokens < 1) return `outputTokens is ${outputTokens}: at least 1`;
    const { blockTokens, blockCount, isPromptChunked, stepTokensMax } = this.limits;
    const kept = promptTokens + outputTokens - 1;
    if (kept > blockCount * blockTokens) return `${kept} tokens do not fit into a cache of ${blockCount * blockTokens}`;
    if (!isPromptChunked && kept > stepTokensMax) return `${kept} tokens do not fit into a step of ${stepTokensMax}`;
    if (!(request.loadedTokens >= 0)) return `loadedTokens is ${request.loadedTokens}: at least 0`;
    const whole = Math.floor(promptTokens / this.#pageTokens);
    if (request.pages.length > whole)
      return `${request.pages.length} pages of ${promptTokens} tokens: at most ${whole}`;
    if (!this.#priorities.includes(priority) && this.#priorities.length >= priorityCountMax) {
      return `there are ${priorityCountMax} priorities already`;
    }
    return undefined;
  }

  /** Queues a request. Throws RangeError if `refusal` returns a reason. */
  add(request: BatchedRequest): void {
    const problem = this.refusal(request);
    if (problem !== undefined) throw new RangeError(problem);
    const slot = this.#table.add(request, this.#levelOf(request.priority));
    this.#waiting.append(slot);
    this.#table.phase[slot] = waiting;
    this.#isHeadBlocked = false;
  }

  /** Number of the prompt's leading pages that are cached. */
  cachedPagesOf(pages: readonly number[]): number {
    const missing = pages.findIndex((name) => this.#blocks.findPage(name) === noSlot);
    return missing === -1 ? pages.length : missing;
  }

  /** Decides the next step; `undefined`: there is no work. */
  schedule(): Step | undefined {
    const step = this.#steps[this.#scheduledCount & 3] ?? emptyStep();
    clear(step);
    const preempted = this.#totals.preemptions;
    this.#makeRoom();
    const left = this.#decode(step);
    const afterPrompts = this.#continuePrompts(step, left);
    if (this.#totals.preemptions === preempted) this.#admit(step, afterPrompts);
    if (step.load.decodeSequences + step.load.promptTokens === 0) return undefined;
    this.#totals.steps += 1;
    this.#scheduledCount += 1;
    return step;
  }

  /**
   * Records that the tokens of a step are computed: sequences that ended with it release their blocks. Steps complete
   * in order.
   */
  complete(step: Step): void {
    if ((step as OwnStep).endingSlots.length > 0) this.#isHeadBlocked = false;
    for (const slot of (step as OwnStep).endingSlots) {
      this.#totals.outputTokens += this.#table.outputTokens[slot] ?? 0;
      this.#release(slot, this.#table.computed[slot] ?? 0);
      this.#endingCount -= 1;
      this.#table.remove(slot);
    }
  }

  /**
   * Runs steps that only advance decoding sequences, with the results of `schedule` and `complete`, until a sequence
   * ends, a request can start or `untilMs` is reached. `last` is the step scheduled last, in which no sequence starts
   * or ends; afterwards it represents the last step that was run.
   */
  coast(last: Step, clock: CoastingClock, untilMs: number, costs: StepCosts): void {
    const isQuiet = this.#prompts.length === 0 && (this.#waiting.length === 0 || this.#isHeadBlocked);
    if (!isQuiet || this.#decoding.count === 0 || this.#endingCount > 0) return;
    const ticks = this.#decoding.coast(clock, untilMs, costs, this.#blocks);
    this.#totals.steps += ticks;
    if (ticks > 0) last.load.contextTokens = this.#decoding.contextTokens;
  }

  #levelOf(priority: number): number {
    const known = this.#priorities.indexOf(priority);
    if (known !== -1) return known;
    const level = this.#priorities.push(priority) - 1;
    this.#levelOrder.push(level);
    this.#levelOrder.sort((a, b) => (this.#priorities[a] ?? 0) - (this.#priorities[b] ?? 0));
    return level;
  }

  #blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.limits.blockTokens);
  }

  /** Number of blocks that running sequences need for the next step. */
  #blocksNeeded(): number {
    let needed = this.#decoding.blocksNeeded;
    let left = this.limits.stepTokensMax - this.#decoding.count;
    for (const slot of this.#prompts) {
      const chunk = Math.min(this.#missingOf(slot), left);
      const computed = this.#table.computed[slot] ?? 0;
      needed += this.#blocksFor(computed + chunk) - this.#blocksFor(computed);
      left -= chunk;
    }
    return needed;
  }

  /** Preempts sequences from the end of the running list until all other running sequences have their blocks. */
  #makeRoom(): void {
    while (this.#blocksNeeded() > this.#blocks.availableCount) this.#preempt(this.#running.last());
  }

  #missingOf(slot: number): number {
    const { promptTokens, generated, computed } = this.#table;
    return (promptTokens[slot] ?? 0) + (generated[slot] ?? 0) - (computed[slot] ?? 0);
  }

  /** Adds decoding sequences to the step; returns the step's remaining tokens. */
  #decode(step: OwnStep): number {
    const { load } = step;
    const { count } = this.#decoding;
    if (count === 0) return this.limits.stepTokensMax;
    this.#blocks.take(this.#decoding.blocksNeeded);
    load.decodeSequences = count;
    load.contextTokens = this.#decoding.contextTokens + count;
    this.#decoding.advance(step.endingSlots);
    if (step.endingSlots.length > 1) step.endingSlots.sort(this.#byBegin);
    for (const slot of step.endingSlots) {
      this.#table.computed[slot] = this.#decoding.tokensOf(slot);
      this.#end(slot, step);
    }
    return this.limits.stepTokensMax - count;
  }

  #end(slot: number, step: OwnStep): void {
    this.#table.phase[slot] = ending;
    this.#running.remove(slot);
    this.#endingCount += 1;
    step.finished.push(this.#table.id[slot] ?? 0);
  }

  #continuePrompts(step: OwnStep, tokens: number): number {
    let left = tokens;
    const slots = this.#prompts.splice(0);
    for (const slot of slots) {
      const chunk = Math.min(this.#missingOf(slot), left);
      left -= chunk;
      const computed = this.#table.computed[slot] ?? 0;
      this.#blocks.take(this.#blocksFor(computed + chunk) - this.#blocksFor(computed));
      this.#compute(slot, chunk, step);
    }
    return left;
  }

  #admit(step: OwnStep, tokens: number): void {
    let left = tokens;
    while (left > 0 && this.#waiting.length > 0) {
      const hasSlot = this.runningCount < this.limits.sequencesMax;
      const chunk = hasSlot ? this.#start(this.#waiting.first(), left, step) : 0;
      if (chunk === 0) {
        this.#isHeadBlocked = true;
        return;
      }
      left -= chunk;
    }
  }

  /** Starts a request if its blocks are available; returns the number of the step's tokens that it uses. */
  #start(slot: number, left: number, step: OwnStep): number {
    const { limits } = this;
    const blocks = this.#blocks;
    const names = this.#table.pages[slot] ?? [];
    const target = this.#missingOf(slot);
    const hitPages = limits.isPrefixCached ? this.#hitPages(names, target) : 0;
    const runBlocks = this.#reachableRun(slot, hitPages);
    const pageBlocks = this.#blocksFor(hitPages * this.#pageTokens);
    // If the whole prompt is cached, its last token is computed again, because its logits yield the first token.
    const reusable = Math.floor((target - 1) / limits.blockTokens);
    const hitBlocks = Math.min(pageBlocks + runBlocks, reusable);
    const foundTokens = hitBlocks * limits.blockTokens;
    const loadedBlocks = Math.floor((this.#table.loadedTokens[slot] ?? 0) / limits.blockTokens);
    const hitTokens = Math.max(foundTokens, Math.min(loadedBlocks, reusable) * limits.blockTokens);
    const chunk = Math.min(target - hitTokens, left);
    if (!limits.isPromptChunked && chunk < target - hitTokens) return 0;
    const keptRun = Math.max(0, hitBlocks - pageBlocks);
    const owned = pageBlocks + keptRun;
    const needed = this.#blocksFor(hitTokens + chunk) - owned;
    const checked = limits.admission === "wholePrompt" ? this.#blocksFor(target) - owned : needed;
    let room = blocks.availableCount - keptRun;
    for (let index = 0; index < hitPages; index += 1) {
      room -= blocks.reusableBlocksOf(blocks.findPage(names[index] ?? 0));
    }
    const watermark = this.runningCount === 0 ? 0 : limits.watermarkBlocks;
    if (checked + watermark > room) return 0;
    this.#waiting.remove(slot);
    this.#running.append(slot);
    this.#begunCount += 1;
    this.#table.begun[slot] = this.#begunCount;
    this.#hold(slot, hitPages, keptRun);
    if (needed > 0) blocks.take(needed);
    this.#namePages(slot, foundTokens, hitTokens);
    this.#table.computed[slot] = hitTokens;
    this.#table.phase[slot] = computingPrompt;
    if ((this.#table.preemptions[slot] ?? 0) === 0) this.#count(slot, hitPages, hitTokens, step);
    this.#compute(slot, chunk, step);
    return chunk;
  }

  /**
   * Number of pages that the request can reuse. A page of one block is not reused if its last token must be computed
   * again, because that takes a separate block.
   */
  #hitPages(names: readonly number[], target: number): number {
    const found = this.cachedPagesOf(names);
    const isWhole = found * this.#pageTokens === target && this.#pageTokens === this.limits.blockTokens;
    return isWhole ? found - 1 : found;
  }

  #count(slot: number, hitPages: number, hitTokens: number, step: OwnStep): void {
    step.started.push(this.#table.id[slot] ?? 0);
    this.#totals.pagesAsked += this.#table.pages[slot]?.length ?? 0;
    this.#totals.pagesHit += hitPages;
    this.#totals.promptTokens += this.#table.promptTokens[slot] ?? 0;
    this.#totals.promptTokensHit += hitTokens;
  }

  /**
   * Number of blocks of the request's preempted run that are usable: the run counts only if all pages before it are
   * cached.
   */
  #reachableRun(slot: number, hitPages: number): number {
    const extent = this.#table.run[slot] ?? noSlot;
    if (extent === noSlot || hitPages * this.#pageTokens !== this.#table.runAfter[slot]) return 0;
    return this.#blocks.runBlocks(extent);
  }

  #hold(slot: number, hitPages: number, keptRun: number): void {
    const held = this.#table.heldPages[slot] ?? [];
    const names = this.#table.pages[slot] ?? [];
    let pageBlocks = 0;
    for (let index = 0; index < hitPages; index += 1) {
      const extent = this.#blocks.findPage(names[index] ?? 0);
      pageBlocks += this.#blocks.hold(extent);
      held.push(extent);
    }
    this.#table.pageBlocks[slot] = pageBlocks;
    const run = this.#table.run[slot] ?? noSlot;
    if (run === noSlot) return;
    this.#blocks.holdRun(run, keptRun);
    this.#table.run[slot] = noSlot;
  }

  /** Computes `chunk` more prompt tokens into blocks that the sequence holds. */
  #compute(slot: number, chunk: number, step: OwnStep): void {
    const { load } = step;
    const from = this.#table.computed[slot] ?? 0;
    const to = from + chunk;
    load.promptTokens += chunk;
    load.promptPairs += chunk * from + (chunk * (chunk + 1)) / 2;
    this.#table.computed[slot] = to;
    this.#namePages(slot, from, to);
    if (this.#missingOf(slot) > 0) {
      this.#prompts.push(slot);
      return;
    }
    load.promptsEnding += 1;
    const generated = (this.#table.generated[slot] ?? 0) + 1;
    this.#table.generated[slot] = generated;
    if (generated === 1) step.firsts.push(this.#table.id[slot] ?? 0);
    const steps = (this.#table.outputTokens[slot] ?? 0) - generated;
    if (steps === 0) {
      step.endingSlots.push(slot);
      this.#end(slot, step);
      return;
    }
    this.#table.phase[slot] = decoding;
    this.#decoding.enter(slot, to, steps);
  }

  /** Makes pages visible to other requests once their last token is computed. */
  #namePages(slot: number, from: number, to: number): void {
    if (!this.limits.isPrefixCached) return;
    const names = this.#table.pages[slot] ?? [];
    const last = Math.min(names.length, Math.floor(to / this.#pageTokens));
    const blocks = this.#pageTokens / this.limits.blockTokens;
    for (let index = Math.floor(from / this.#pageTokens); index < last; index += 1) {
      const extent = this.#blocks.namePage(names[index] ?? 0, blocks);
      if (extent === noSlot) continue;
      this.#table.heldPages[slot]?.push(extent);
      this.#table.pageBlocks[slot] = (this.#table.pageBlocks[slot] ?? 0) + blocks;
    }
  }

  /** Releases the blocks of a sequence with this number of cached tokens; its last blocks are reused first. */
  #release(slot: number, tokens: number): void {
    const pageBlocks = this.#table.pageBlocks[slot] ?? 0;
    this.#blocks.releaseBlocks(Math.max(0, this.#blocksFor(tokens) - pageBlocks));
    this.#releasePages(slot);
  }

  #releasePages(slot: number): void {
    const held = this.#table.heldPages[slot] ?? [];
    while (held.length > 0) this.#blocks.releasePage(held.pop() ?? noSlot);
    this.#table.pageBlocks[slot] = 0;
  }

  #preempt(slot: number): void {
    const table = this.#table;
    let tokens = table.computed[slot] ?? 0;
    if (table.phase[slot] === decoding) {
      tokens = this.#decoding.tokensOf(slot);
      this.#decoding.leave(slot);
      table.generated[slot] = tokens + 1 - (table.promptTokens[slot] ?? 0);
    } else {
      this.#prompts.splice(this.#prompts.indexOf(slot), 1);
    }
    this.#leaveRun(slot, tokens);
    this.#running.remove(slot);
    this.#waiting.prepend(slot);
    this.#isHeadBlocked = false;
    table.phase[slot] = waiting;
    table.computed[slot] = 0;
    table.preemptions[slot] = (table.preemptions[slot] ?? 0) + 1;
    this.#totals.preemptions += 1;
  }

  /** Releases the blocks of a preempted sequence; the sequence may later reuse the whole blocks behind its pages. */
  #leaveRun(slot: number, tokens: number): void {
    const perPage = this.#pageTokens / this.limits.blockTokens;
    const heldPages = this.#table.heldPages[slot]?.length ?? 0;
    const names = this.#table.pages[slot]?.length ?? 0;
    const pages = Math.max(heldPages, Math.min(names, Math.floor(tokens / this.#pageTokens)));
    const whole = Math.max(0, Math.floor(tokens / this.limits.blockTokens) - pages * perPage);
    const kept = Math.max(0, this.#blocksFor(tokens) - pages * perPage);
    this.#blocks.releaseBlocks(kept - whole);
    this.#table.run[slot] = this.#blocks.releaseRun(whole);
    this.#table.runAfter[slot] = pages * this.#pageTokens;
    // If another sequence named the same pages first, this one keeps its own blocks.
    this.#blocks.releaseBlocks((pages - heldPages) * perPage);
    this.#releasePages(slot);
  }
}

function clear(step: OwnStep): void {
  const { load } = step;
  load.decodeSequences = 0;
  load.contextTokens = 0;
  load.promptTokens = 0;
  load.promptPairs = 0;
  load.promptsEnding = 0;
  step.started.length = 0;
  step.firsts.length = 0;
  step.finished.length = 0;
  step.endingSlots.length = 0;
}
