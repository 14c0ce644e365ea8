/**
 * Usage of a limit over the last minute, or in a calendar period. Both count in integers. The caller passes the time.
 */

/**
 * Length of a slot: half a second. A window of 122 slots admits up to 1.7% too little at a steady rate, and never too
 * much.
 */
const BUCKET_MS = 500;
/**
 * Number of slots: 120 for 60 s, the slot in progress, and one more because a lease may be used until half a second
 * after its grant.
 */
const BUCKET_COUNT = 122;
/** Time in ms after which a sliding window holds nothing that was added before. */
export const WINDOW_MS: number = BUCKET_COUNT * BUCKET_MS;

export interface UsageWindow {
  /** Amount in use at `nowMs`. */
  used(nowMs: number): number;
  /** Adds to the time slot of `nowMs` and returns the slot's number, by which `refund` finds it. */
  add(amount: number, nowMs: number): number;
  refund(slot: number, amount: number, nowMs: number): void;
  /** Removes the amount from the newest slots that are not empty. */
  refundNewest(amount: number, nowMs: number): void;
  /** Adds an amount that another ledger counted. Its age is in slots. */
  import(counted: { readonly age: number; readonly amount: number }, nowMs: number): void;
  /** Amounts of the slots that are not empty, with their age in slots. */
  ages(nowMs: number): readonly (readonly [age: number, amount: number])[];
  /** The earliest time at which `amount` may fit under `limit`. */
  freeAtMs(amount: number, limit: number, nowMs: number): number;
}

export class SlidingWindow implements UsageWindow {
  readonly #buckets = new Float64Array(BUCKET_COUNT);
  #newest = 0;
  #sum = 0;

  used(nowMs: number): number {
    this.#advance(nowMs);
    return this.#sum;
  }

  add(amount: number, nowMs: number): number {
    this.#advance(nowMs);
    this.#buckets[this.#newest % BUCKET_COUNT]! += amount;
    this.#sum += amount;
    return this.#newest;
  }

  refund(slot: number, amount: number, nowMs: number): void {
    this.#advance(nowMs);
    if (slot > this.#newest || slot <= this.#newest - BUCKET_COUNT) return;
    const at = slot % BUCKET_COUNT;
    const given = Math.min(amount, this.#buckets[at]!);
    this.#buckets[at]! -= given;
    this.#sum -= given;
  }

  freeAtMs(amount: number, limit: number, nowMs: number): number {
    this.#advance(nowMs);
    let excess = this.#sum + Math.min(amount, limit) - limit;
    if (excess <= 0) return nowMs;
    for (let slot = this.#newest - BUCKET_COUNT + 1; slot <= this.#newest; slot++) {
      excess -= slot < 0 ? 0 : this.#buckets[slot % BUCKET_COUNT]!;
      if (excess <= 0) return (slot + BUCKET_COUNT) * BUCKET_MS;
    }
    return nowMs + BUCKET_COUNT * BUCKET_MS;
  }

  refundNewest(amount: number, nowMs: number): void {
    this.#advance(nowMs);
    let left = Math.min(amount, this.#sum);
    for (let age = 0; age < BUCKET_COUNT && left > 0 && age <= this.#newest; age++) {
      const at = (this.#newest - age) % BUCKET_COUNT;
      const given = Math.min(left, this.#buckets[at]!);
      this.#buckets[at]! -= given;
      this.#sum -= given;
      left -= given;
    }
  }

  import({ age, amount }: { readonly age: number; readonly amount: number }, nowMs: number): void {
    this.#advance(nowMs);
    if (!(age >= 0 && age < BUCKET_COUNT && age <= this.#newest && amount > 0)) return;
    this.#buckets[(this.#newest - age) % BUCKET_COUNT]! += amount;
    this.#sum += amount;
  }

  ages(nowMs: number): readonly (readonly [age: number, amount: number])[] {
    this.#advance(nowMs);
    const found: [number, number][] = [];
    for (let age = 0; age < BUCKET_COUNT && age <= this.#newest; age++) {
      const amount = this.#buckets[(this.#newest - age) % BUCKET_COUNT]!;
      if (amount > 0) found.push([age, amount]);
    }
    return found;
  }

  #advance(nowMs: number): void {
    const slot = Math.floor(nowMs / BUCKET_MS);
    if (slot <= this.#newest) return;
    if (slot - this.#newest >= BUCKET_COUNT) {
      this.#buckets.fill(0);
      this.#sum = 0;
    } else {
      for (let next = this.#newest + 1; next <= slot; next++) {
        this.#sum -= this.#buckets[next % BUCKET_COUNT]!;
        this.#buckets[next % BUCKET_COUNT] = 0;
      }
    }
    this.#newest = slot;
  }
}

export type Period = "day" | "month";

/** Days or months since the epoch, in UTC. */
function periodNumber(period: Period, wallMs: number): number {
  if (period === "day") return Math.floor(wallMs / 86_400_000);
  const date = new Date(wallMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The time at which the period that contains `wallMs` began. */
export function periodStartMs(period: Period, wallMs: number): number {
  if (period === "day") return Math.floor(wallMs / 86_400_000) * 86_400_000;
  const date = new Date(wallMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function periodEndMs(period: Period, wallMs: number): number {
  if (period === "day") return (Math.floor(wallMs / 86_400_000) + 1) * 86_400_000;
  const date = new Date(wallMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/**
 * A budget's window: everything since its period began. Here and everywhere in `limits`, `nowMs` is wall-clock time.
 */
export class CalendarWindow implements UsageWindow {
  readonly #period: Period;
  #number = 0;
  #endsAtMs = 0;
  #sum = 0;

  constructor(period: Period) {
    this.#period = period;
  }

  used(nowMs: number): number {
    if (nowMs >= this.#endsAtMs) {
      this.#number = periodNumber(this.#period, nowMs);
      this.#endsAtMs = periodEndMs(this.#period, nowMs);
      this.#sum = 0;
    }
    return this.#sum;
  }

  add(amount: number, nowMs: number): number {
    this.used(nowMs);
    this.#sum += amount;
    return this.#number;
  }

  refund(slot: number, amount: number, nowMs: number): void {
    this.used(nowMs);
    if (slot === this.#number) this.#sum = Math.max(0, this.#sum - amount);
  }

  refundNewest(amount: number, nowMs: number): void {
    this.refund(this.#number, amount, nowMs);
  }

  import({ amount }: { readonly amount: number }, nowMs: number): void {
    if (amount > 0) this.add(amount, nowMs);
  }

  ages(nowMs: number): readonly (readonly [age: number, amount: number])[] {
    const used = this.used(nowMs);
    return used > 0 ? [[0, used]] : [];
  }

  freeAtMs(amount: number, limit: number, nowMs: number): number {
    return this.used(nowMs) + Math.min(amount, limit) <= limit ? nowMs : periodEndMs(this.#period, nowMs);
  }
}
