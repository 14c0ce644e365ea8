/** The facts of a quarter that the journal has: use and capacity by day, waits, failures, and orders of capacity. */
import { DAY_MS, dayOf, expectedArrival } from "@headroom/model";
import type { CapacityOrderSpec, Event } from "@headroom/model";
import { milliMsOf, type UsageRow } from "../rows/row.ts";
import { cutRow } from "../rows/usage-totals.ts";
import type { Quarter } from "./quarter.ts";
import { WaitingFold, type WaitSummary } from "./waiting-fold.ts";

/** Accelerator-hours of one day. */
export interface DayOfFleet {
  held: number;
  capacity: number;
}

export interface RecordedOrder {
  readonly name: string;
  readonly pool: string;
  readonly accelerators: number;
  readonly orderedAtMs: number | null;
  /** The middle of the estimate when it was ordered. */
  readonly expectedAtMs: number | null;
  readonly inServiceAtMs: number | null;
  readonly isCancelled: boolean;
}

export interface QuarterFacts {
  /** Every day of the journal up to the end of the quarter. */
  readonly days: ReadonlyMap<number, DayOfFleet>;
  /** Accelerator-hours that waited, by day. */
  readonly waitingByDay: ReadonlyMap<number, number>;
  readonly waits: WaitSummary;
  readonly firstAtMs: number;
  /** The newest event of the journal, also after the quarter. */
  readonly lastAtMs: number;
  /** Attempts that ended in the quarter, by outcome. */
  readonly attemptsByOutcome: Readonly<Record<string, number>>;
  /** Losses of nodes in the quarter, the node with most losses first. */
  readonly nodeLosses: readonly { readonly node: string; readonly count: number }[];
  readonly orders: readonly RecordedOrder[];
}

const MILLI_MS_PER_HOUR = 3_600_000_000;

export class QuarterFold {
  readonly #quarter: Quarter;
  readonly #waiting: WaitingFold;
  readonly #days = new Map<number, DayOfFleet>();
  readonly #outcomes = new Map<string, number>();
  readonly #losses = new Map<string, number>();
  readonly #orders = new Map<string, RecordedOrder & { readonly spec: CapacityOrderSpec }>();
  #firstAtMs = Number.POSITIVE_INFINITY;
  #lastAtMs = 0;

  constructor(quarter: Quarter) {
    this.#quarter = quarter;
    this.#waiting = new WaitingFold(quarter);
  }

  /** Events after the quarter only say that the journal goes on. */
  event(event: Event): void {
    const { fromMs, toMs } = this.#quarter;
    this.#lastAtMs = Math.max(this.#lastAtMs, event.atMs);
    if (event.atMs >= toMs) return;
    this.#firstAtMs = Math.min(this.#firstAtMs, event.atMs);
    this.#waiting.fold(event);
    this.#order(event);
    if (event.atMs < fromMs) return;
    if (event.kind === "attemptEnded") increase(this.#outcomes, event.outcome);
    if (event.kind === "nodeLost") increase(this.#losses, event.nodeId);
  }

  row(row: UsageRow): void {
    if (row.fromMs >= this.#quarter.toMs) return;
    for (const part of cutRow(row, "day")) {
      const day = dayOf(part.fromMs) * DAY_MS;
      if (day >= this.#quarter.toMs) return;
      let known = this.#days.get(day);
      if (known === undefined) this.#days.set(day, (known = { held: 0, capacity: 0 }));
      const hours = milliMsOf(part) / MILLI_MS_PER_HOUR;
      known.capacity += hours;
      if (part.team !== "") known.held += hours;
    }
  }

  #order(event: Event): void {
    if (event.kind === "capacityOrderCreated") {
      const { order: spec, phase, atMs } = event;
      const order = {
        spec,
        name: spec.name,
        pool: spec.pool,
        accelerators: spec.nodeCount * spec.shape.acceleratorCount,
        inServiceAtMs: null,
        isCancelled: false,
      };
      this.#orders.set(spec.name, { ...order, ...placed(spec, phase === "planned" ? null : atMs) });
      return;
    }
    if (!("name" in event)) return;
    const known = this.#orders.get(event.name);
    if (known === undefined) return;
    if (event.kind === "capacityOrderCancelled") this.#orders.set(event.name, { ...known, isCancelled: true });
    if (event.kind === "capacityOrderFilled")
      this.#orders.set(event.name, { ...known, inServiceAtMs: known.inServiceAtMs ?? event.atMs });
    if (event.kind !== "capacityOrderAdvanced" || event.phase === "planned") return;
    const spec = { ...known.spec, ...(event.arrival === undefined ? {} : { arrival: event.arrival }) };
    const order = known.orderedAtMs === null ? { ...known, spec, ...placed(spec, event.atMs) } : { ...known, spec };
    const inServiceAtMs = event.phase === "inService" ? (order.inServiceAtMs ?? event.atMs) : order.inServiceAtMs;
    this.#orders.set(event.name, { ...order, inServiceAtMs });
  }

  end(untilMs: number): QuarterFacts {
    this.#waiting.end(untilMs);
    return {
      waits: this.#waiting.summary(),
      waitingByDay: this.#waiting.hoursByDay(),
      days: this.#days,
      firstAtMs: this.#firstAtMs,
      lastAtMs: this.#lastAtMs,
      attemptsByOutcome: Object.fromEntries([...this.#outcomes].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      nodeLosses: [...this.#losses]
        .map(([node, count]) => ({ node, count }))
        .toSorted((a, b) => b.count - a.count || (a.node < b.node ? -1 : 1)),
      orders: [...this.#orders.values()].map(({ spec, ...order }) => ({ ...order, pool: spec.pool })),
    };
  }
}

function placed(
  spec: CapacityOrderSpec,
  orderedAtMs: number | null,
): Pick<RecordedOrder, "orderedAtMs" | "expectedAtMs"> {
  if (orderedAtMs === null) return { orderedAtMs: null, expectedAtMs: null };
  return { orderedAtMs, expectedAtMs: expectedArrival({ arrival: spec.arrival, orderedAtMs }, orderedAtMs).p50AtMs };
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
