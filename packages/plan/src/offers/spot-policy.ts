/**
 * Chooses between waiting, spot and on-demand capacity under a deadline.
 *
 * The cheapest price of each step (spot in the best zone, else on demand) is taken as a Markov chain over price classes. Its
 * transition rates are learnt from the rows seen so far, beside a prior of a few observations. Before each decision the expected cost
 * to the deadline is computed backwards over (time left, work left, price class, mode), and the cheapest action is taken.
 */
import { losesWork, type Place, type SpotJob, type SpotPolicy, type SpotSituation } from "./spot-job.ts";
import type { SpotSeries } from "./spot-series.ts";
import { type PriceChain, PriceHistory } from "./spot-prices.ts";

/** Hours without an interruption that are assumed before the first observation. */
const PRIOR_HAZARD_PER_HOUR = 0.12;
const PRIOR_HAZARD_HOURS = 8;
const TIME_STEPS = 72;
const WORK_STEPS = 72;

const NONE = 0;
const SPOT = 1;
const ON_DEMAND = 2;
const MODES = 3;

export class ExpectedCostPolicy implements SpotPolicy {
  readonly #job: SpotJob;
  readonly #history: PriceHistory;

  constructor(series: SpotSeries, job: SpotJob) {
    this.#job = job;
    this.#history = new PriceHistory(series);
  }

  decide(situation: SpotSituation): { readonly place: Place; readonly checkpointEveryHours: number } {
    const { series, step, place } = situation;
    this.#history.observeUntil(step);
    const hazard = this.#history.interruptionsPerHour(PRIOR_HAZARD_PER_HOUR, PRIOR_HAZARD_HOURS);
    const checkpointEveryHours = checkpointInterval(this.#job, hazard);
    const zone = this.#bestZone(series, step, place, hazard);
    const mode = place === "none" ? NONE : place === "on-demand" ? ON_DEMAND : SPOT;
    const price = zone === undefined ? undefined : series.spot[zone]![step]!;
    const chain = this.#history.chain(step);
    const action = new ExpectedCost(chain, this.#job, hazard, situation).action(chain.classOf(price), price, mode);
    if (action === SPOT && zone !== undefined) return { place: zone, checkpointEveryHours };
    return { place: action === ON_DEMAND ? "on-demand" : "none", checkpointEveryHours };
  }

  /** The zone of the lowest price, unless the saving until the next expected interruption does not pay for the move. */
  #bestZone(series: SpotSeries, step: number, place: Place, hazard: number): number | undefined {
    let best: number | undefined;
    for (let zone = 0; zone < series.zones.length; zone += 1) {
      const price = series.spot[zone]![step]!;
      if (Number.isFinite(price) && (best === undefined || price < series.spot[best]![step]!)) best = zone;
    }
    if (best === undefined || typeof place !== "number" || !Number.isFinite(series.spot[place]![step]!)) return best;
    const saving = series.spot[place]![step]! - series.spot[best]![step]!;
    const stayHours = Math.min(1 / hazard, 12);
    return saving * stayHours > 2 * this.#job.restartHours * series.spot[best]![step]! ? best : place;
  }
}

/** Young's interval, sqrt(2 x cost / hazard); hourly if a checkpoint fits into the notice, against failures without one. */
function checkpointInterval(job: SpotJob, hazard: number): number {
  if (!losesWork(job)) return 1;
  return Math.min(6, Math.max(0.05, Math.sqrt((2 * job.checkpointHours) / hazard)));
}

/** Expected cost of the rest of the job, by backward induction on a grid. A slot is a pair of mode and price class. */
class ExpectedCost {
  readonly #chain: PriceChain;
  readonly #job: SpotJob;
  readonly #dt: number;
  readonly #dw: number;
  /** Progress for each hour of spot capacity, after checkpoints and the expected interruptions. */
  readonly #rate: number;
  /** Expected cost at the end of the grid step that is being computed, by slot and work left. */
  #after: readonly Float64Array[];

  constructor(chain: PriceChain, job: SpotJob, hazard: number, situation: SpotSituation) {
    this.#chain = chain;
    this.#job = job;
    this.#dt = situation.leftHours / TIME_STEPS;
    this.#dw = situation.workLeftHours / WORK_STEPS;
    const every = checkpointInterval(job, hazard);
    const lossHours = (losesWork(job) ? every / 2 : 0) + job.restartHours;
    this.#rate = (every / (every + job.checkpointHours)) * Math.max(0.2, 1 - hazard * lossHours);
    // The job moves to on-demand capacity before it could be late, so work that is left costs the price on demand.
    const last = Float64Array.from({ length: WORK_STEPS + 1 }, (_, work) => work * this.#dw * chain.onDemand);
    this.#after = Array.from({ length: MODES * chain.prices.length }, () => last);
    this.#solve();
  }

  #solve(): void {
    const { prices } = this.#chain;
    const transition = this.#chain.transition(this.#dt);
    for (let time = TIME_STEPS - 1; time >= 1; time -= 1) {
      this.#after = this.#expected(transition);
      this.#after = this.#after.map((_, slot) => {
        const price = prices[slot % prices.length];
        const costs = new Float64Array(WORK_STEPS + 1);
        for (let work = 1; work <= WORK_STEPS; work += 1) {
          costs[work] = this.#mustRun(work, time)
            ? this.#forcedCost(slot, work)
            : Math.min(
                this.#waitCost(slot, work),
                this.#runCost(slot, ON_DEMAND, this.#chain.onDemand, work),
                price === undefined ? Number.POSITIVE_INFINITY : this.#runCost(slot, SPOT, price, work),
              );
        }
        return costs;
      });
    }
    this.#after = this.#expected(transition);
  }

  /** The mean over the price classes that can follow. An instance ends when its class becomes "unavailable". */
  #expected(transition: readonly Float64Array[]): readonly Float64Array[] {
    const { prices } = this.#chain;
    return this.#after.map((_, slot) => {
      const mode = Math.floor(slot / prices.length);
      const costs = new Float64Array(WORK_STEPS + 1);
      for (const [kind, weight] of transition[slot % prices.length]!.entries()) {
        const from = this.#after[(mode === SPOT && prices[kind] === undefined ? NONE : mode) * prices.length + kind]!;
        for (let work = 0; work <= WORK_STEPS; work += 1) costs[work] = costs[work]! + weight * from[work]!;
      }
      return costs;
    });
  }

  /** The cheapest mode now, in a price class and at its present price. */
  action(kind: number, price: number | undefined, mode: number): number {
    const slot = mode * this.#chain.prices.length + kind;
    if (this.#mustRun(WORK_STEPS, 0)) return ON_DEMAND;
    const wait = this.#waitCost(slot, WORK_STEPS);
    const onDemand = this.#runCost(slot, ON_DEMAND, this.#chain.onDemand, WORK_STEPS);
    const spot = price === undefined ? Number.POSITIVE_INFINITY : this.#runCost(slot, SPOT, price, WORK_STEPS);
    if (wait < Math.min(onDemand, spot)) return NONE;
    return spot < onDemand ? SPOT : ON_DEMAND;
  }

  #mustRun(work: number, time: number): boolean {
    return work * this.#dw + this.#job.restartHours >= (TIME_STEPS - time) * this.#dt;
  }

  #forcedCost(slot: number, work: number): number {
    return this.#chain.onDemand * (work * this.#dw + this.#startHours(slot, ON_DEMAND));
  }

  #waitCost(slot: number, work: number): number {
    return this.#after[slot % this.#chain.prices.length]![work]!;
  }

  #startHours(slot: number, mode: number): number {
    return Math.floor(slot / this.#chain.prices.length) === mode ? 0 : this.#job.restartHours;
  }

  #runCost(slot: number, mode: number, price: number, work: number): number {
    const startHours = this.#startHours(slot, mode);
    const rate = mode === SPOT ? this.#rate : 1;
    const workHours = work * this.#dw;
    const neededHours = startHours + workHours / rate;
    if (neededHours <= this.#dt) return price * neededHours;
    const left = Math.max(0, (workHours - Math.max(0, this.#dt - startHours) * rate) / this.#dw);
    const costs = this.#after[mode * this.#chain.prices.length + (slot % this.#chain.prices.length)]!;
    const low = Math.floor(left);
    const part = left - low;
    // A start that is longer than a grid step is paid at once.
    const paidHours = Math.max(this.#dt, startHours);
    return price * paidHours + costs[low]! * (1 - part) + (part > 0 ? costs[low + 1]! * part : 0);
  }
}
