/**
 * The requests of one pool that wait for their turn, by priority, and within a priority so that teams get shares of its work by their weights. Replicas have a
 * number of slots; while all are taken, requests wait here and not in the engines, which serve whoever came first. Lines of
 * batches take slots that nobody else needs, and give them back at once when another request comes.
 */
import { rankOf, type Priority } from "./priority.ts";
import { Shares, type WorkTokens } from "./shares.ts";

/**
 * Lines leave one of so many slots to requests. A line that gives way starts again with a longer prompt, which delays the first tokens of others: with
 * 32 slots at 40% load, lines cost the p99 of the first token 9% instead of 48% (`bench/batch-steps.bench.ts`).
 */
const SLOTS_FOR_ONE_KEPT = 16;

export interface FairRequest {
  readonly team: string;
  readonly weight: number;
  readonly isBatch: boolean;
  readonly priority: Priority;
  readonly promptTokens: number;
  /** The most output tokens that the request may generate. */
  readonly outputMax: number;
  readonly bytes: number;
  /** Called when it is the request's turn after it waited. */
  start(): void;
  /** Asks a line of a batch to stop at once. Returns false if it cannot, because its answer is nearly there. */
  giveWay(): boolean;
  /** Called when the request has to leave the full queue for one of a higher priority. Its turn has ended. */
  displaced(): void;
}

export interface FairBounds {
  /** Requests that may be in progress at the same time. */
  readonly slots: number;
  readonly waitingMax: number;
  readonly waitingBytesMax: number;
}

/** The turn of one request in the queue of a pool. */
export class FairTurn {
  readonly request: FairRequest;
  readonly queue: FairQueue;
  readonly rank: number;
  state: "waiting" | "running" | "ended" = "waiting";
  estimate = 0;

  constructor(request: FairRequest, queue: FairQueue) {
    this.request = request;
    this.queue = queue;
    this.rank = rankOf(request.priority);
  }

  get team(): string {
    return this.request.team;
  }

  get weight(): number {
    return this.request.weight;
  }

  /** Ends the turn, whether it came or not. `tokens`: what the request took. Further calls have no effect. */
  end(tokens: WorkTokens | undefined): void {
    this.queue.end(this, tokens);
  }
}

/** A pool that lost its bounds has `Infinity` slots. */
const slotsForLines = (slots: number): number =>
  slots === Infinity ? slots : slots - Math.floor(slots / SLOTS_FOR_ONE_KEPT);

export class FairQueue {
  readonly #bounds: () => FairBounds;
  readonly #requests = new Shares<FairTurn>();
  readonly #lines = new Shares<FairTurn>();
  #waitingBytes = 0;
  #runningCount = 0;
  /** Lines of batches in progress, the newest last. */
  readonly #runningLines: FairTurn[] = [];
  #isPumping = false;
  yieldCount = 0;
  /** Requests that left the full queue for one of a higher priority. */
  displacedCount = 0;

  constructor(bounds: () => FairBounds) {
    this.#bounds = bounds;
  }

  /** Requests that wait, without lines of batches. */
  get waitingCount(): number {
    return this.#requests.waitingCount;
  }

  /** Requests of a priority that wait, without lines of batches. */
  waitingAt(priority: Priority): number {
    return this.#requests.waitingAt(rankOf(priority));
  }

  get waitingLineCount(): number {
    return this.#lines.waitingCount;
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  get runningLineCount(): number {
    return this.#runningLines.length;
  }

  /** The turn of a request, which runs already or waits. Undefined if the queue is full. */
  take(request: FairRequest): FairTurn | undefined {
    const { slots } = this.#bounds();
    const turn = new FairTurn(request, this);
    if (request.isBatch) {
      if (this.#hasRoomForLine(slots)) this.#run(turn);
      else this.#lines.add(turn);
      return turn;
    }
    if (this.waitingCount === 0 && (this.#runningCount < slots || this.#freeSlot())) {
      this.#run(turn);
      return turn;
    }
    if (!this.#makesRoom(turn)) return undefined;
    this.#requests.add(turn);
    this.#waitingBytes += request.bytes;
    return turn;
  }

  /** Whether the queue has room for the request, after requests of lower priorities have left it. */
  #makesRoom({ rank, request: { bytes } }: FairTurn): boolean {
    const { waitingMax, waitingBytesMax } = this.#bounds();
    if (waitingMax === 0 || bytes > waitingBytesMax) return false;
    // None leaves for a request that finds no room even so.
    const excess = this.#waitingBytes + bytes - waitingBytesMax;
    if (excess > 0 && excess > this.#requests.sumBelow(rank, ({ request: each }) => each.bytes)) return false;
    while (this.waitingCount >= waitingMax || this.#waitingBytes + bytes > waitingBytesMax) {
      const last = this.#requests.lastBelow(rank);
      if (last === undefined) return false;
      last.state = "ended";
      this.#requests.remove(last);
      this.#waitingBytes -= last.request.bytes;
      this.displacedCount++;
      // Later: it can come back to this queue, in which this request has no place yet.
      queueMicrotask(() => last.request.displaced());
    }
    return true;
  }

  end(turn: FairTurn, tokens: WorkTokens | undefined): void {
    const { state } = turn;
    if (state === "ended") return;
    turn.state = "ended";
    if (state === "running") this.#stopped(turn, tokens);
    else {
      if (!turn.request.isBatch) this.#waitingBytes -= turn.request.bytes;
      this.#sharesOf(turn).remove(turn);
    }
    this.pump();
  }

  /** Starts what has room. Called when a request ends, and when replicas come or go. */
  pump(): void {
    // A request that starts can end at once, and would start the next one inside this loop.
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      const { slots } = this.#bounds();
      while (this.#runningCount < slots || (this.waitingCount > 0 && this.#freeSlot())) {
        const turn =
          this.#requests.next() ?? (this.#runningCount < slotsForLines(slots) ? this.#lines.next() : undefined);
        if (turn === undefined) break;
        if (!turn.request.isBatch) this.#waitingBytes -= turn.request.bytes;
        this.#run(turn);
        turn.request.start();
      }
    } finally {
      this.#isPumping = false;
    }
  }

  #hasRoomForLine(slots: number): boolean {
    return this.waitingCount === 0 && this.waitingLineCount === 0 && this.#runningCount < slotsForLines(slots);
  }

  #run(turn: FairTurn): void {
    const { isBatch, promptTokens, outputMax } = turn.request;
    turn.state = "running";
    turn.estimate = this.#sharesOf(turn).started(turn, promptTokens, outputMax);
    this.#runningCount++;
    if (isBatch) this.#runningLines.push(turn);
  }

  #stopped(turn: FairTurn, tokens: WorkTokens | undefined): void {
    this.#runningCount--;
    this.#sharesOf(turn).ended(turn, turn.estimate, tokens);
    const at = this.#runningLines.lastIndexOf(turn);
    if (at >= 0) this.#runningLines.splice(at, 1);
  }

  /** The line that began last gives its slot: it loses the least work, and is the first of its team to run again. */
  #freeSlot(): boolean {
    for (const turn of this.#runningLines.toReversed()) {
      if (!turn.request.giveWay()) continue;
      this.#stopped(turn, undefined);
      turn.state = "waiting";
      this.#lines.addFirst(turn);
      this.yieldCount++;
      return true;
    }
    return false;
  }

  #sharesOf({ request }: FairTurn): Shares<FairTurn> {
    return request.isBatch ? this.#lines : this.#requests;
  }
}
