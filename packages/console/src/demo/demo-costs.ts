/** Costs in the demo: the same fold, prices and report as in the server, with the prices that the pools declare. */
import type { Event } from "@headroom/model";
import { CAUSE_LINES_MAX, causeHoursQuery, costsQuery, queryTexts } from "@headroom/protocol";
import type { CauseHours, Costs, QueryFor } from "@headroom/protocol";
import {
  CauseTotals,
  causeAnswer,
  HourlyRows,
  StoreFold,
  UsageFold,
  costAnswer,
  priceBook,
  withDeclaredPrices,
} from "@headroom/usage";
import type { UsageRow } from "@headroom/usage";
import { accepted } from "../workers/accepted.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_DEFAULT = 30;
const CAUSE_DAYS_DEFAULT = 7;
/** Parts of a step of the demo's training runs, which report them. Serving and other work reports none. */
const DEMO_SHARES = { compute: 0.61, communication: 0.24, io: 0.05 } as const;
/** Rows kept: those of some weeks of the demo. */
const ROWS_MAX = 200_000;

export class DemoCosts {
  readonly #fold = new UsageFold();
  readonly #stores = new StoreFold();
  #rows: UsageRow[] = [];

  follow(events: readonly Event[]): void {
    for (const event of events) this.#stores.fold(event);
    for (const row of this.#fold.fold(events)) this.#rows.push(row);
    if (this.#rows.length > ROWS_MAX) this.#rows = this.#rows.slice(-ROWS_MAX / 2);
  }

  hours(given: QueryFor<"causeHours">, nowMs: number): CauseHours {
    const { group = null, fromMs, toMs = nowMs } = accepted(causeHoursQuery.safeParse(queryTexts(given)));
    const range = { fromMs: fromMs ?? toMs - CAUSE_DAYS_DEFAULT * DAY_MS, toMs };
    const totals = new CauseTotals(range, group);
    const kinds = new Map<string, string>();
    for (const row of [...this.#rows, ...this.#fold.openRows(nowMs)]) {
      kinds.set(row.attemptId, row.workloadKind);
      totals.add(row);
    }
    const attempts = totals.attempts();
    const isMeasured = (attemptId: string): boolean => kinds.get(attemptId) === "train";
    return {
      ...range,
      group,
      ...causeAnswer(
        totals.hours((attemptId) => (isMeasured(attemptId) ? DEMO_SHARES : null)),
        CAUSE_LINES_MAX,
      ),
      attempts: attempts.length,
      measuredAttempts: attempts.filter(isMeasured).length,
      problems: [],
      answeredAtMs: nowMs,
    };
  }

  answer(given: QueryFor<"costs">, nowMs: number): Costs {
    const { by, group, fromMs, toMs } = accepted(costsQuery.safeParse(queryTexts(given)));
    const hourly = new HourlyRows();
    for (const row of this.#rows) hourly.add(row);
    for (const row of this.#fold.openRows(nowMs)) hourly.add(row);
    const endMs = Math.ceil((toMs ?? nowMs) / HOUR_MS) * HOUR_MS;
    const startMs = fromMs ?? Math.floor(endMs / DAY_MS - DAYS_DEFAULT) * DAY_MS;
    const book = priceBook(withDeclaredPrices([], this.#fold.pools));
    if ("problem" in book) throw new Error(book.problem);
    const range = { fromMs: Math.floor(startMs / HOUR_MS) * HOUR_MS, toMs: endMs };
    const answer = costAnswer(
      { hourly, book, range },
      { by, group, teams: null },
      this.#stores.lines(range, nowMs, book),
    );
    return {
      ...answer,
      by,
      group: [...answer.group],
      items: answer.items.map((line) => ({ ...line, group: [...line.group] })),
      unpricedPools: [...answer.unpricedPools],
      metered: answer.metered.map((line) => ({ ...line })),
      problems: [],
      answeredAtMs: nowMs,
    };
  }
}
