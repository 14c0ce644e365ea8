/** The baseline forecast without a model: past waits of work of this size. */
export interface WaitQuantiles {
  readonly p10Ms: number;
  readonly p90Ms: number;
}

/**
 * Past waits by size, the exact number of accelerators. A size that has never started uses the waits of all sizes;
 * before any start, the forecast is no wait.
 */
export class PastWaits {
  readonly #bySize = new Map<number, number[]>();
  readonly #all: number[] = [];

  started(accelerators: number, waitMs: number): void {
    let ofSize = this.#bySize.get(accelerators);
    if (ofSize === undefined) this.#bySize.set(accelerators, (ofSize = []));
    insert(ofSize, waitMs);
    insert(this.#all, waitMs);
  }

  quantiles(accelerators: number): WaitQuantiles {
    const waits = this.#bySize.get(accelerators) ?? this.#all;
    return { p10Ms: quantile(waits, 0.1), p90Ms: quantile(waits, 0.9) };
  }
}

function insert(sorted: number[], value: number): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, value);
}

/** Quantile with linear interpolation between neighbours; 0 without values. */
function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return 0;
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  const rest = place - low;
  return rest === 0 ? sorted[low]! : sorted[low]! * (1 - rest) + sorted[low + 1]! * rest;
}

/**
 * The loss that a true quantile minimises, in the unit of the arguments (Koenker and Bassett, Econometrica 46, 1978).
 */
export function pinballLoss(share: number, forecast: number, outcome: number): number {
  return outcome >= forecast ? share * (outcome - forecast) : (1 - share) * (forecast - outcome);
}
