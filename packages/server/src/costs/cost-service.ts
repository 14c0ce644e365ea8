/** Answers questions about costs. Each answer folds the whole journal on a thread, so the newest answers are kept for a while. */
import type { JournalAddress } from "@headroom/journal";
import { COST_LINES_MAX, refuse } from "@headroom/protocol";
import type { Costs, CostsQuery } from "@headroom/protocol";
import { OneAtATime } from "../threads/one-at-a-time.ts";
import type { CostRequest, CostResult } from "./cost-thread.ts";

interface CostServiceOptions {
  readonly home: string;
  readonly journal: JournalAddress;
  readonly nowMs: () => number;
  /** For how long an answer is given again, in ms; default 30 s. */
  readonly keptMs?: number;
}

interface KeptCosts {
  readonly atMs: number;
  readonly answer: Promise<Costs>;
}

const KEPT_MS = 30_000;
const KEPT_MAX = 16;
const ANSWER_MS_MAX = 60_000;
const HEAP_MIB_MAX = 1_024;
const WAITING_MAX = 4;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_DEFAULT = 30;
/** Longest range: four years of days. */
const RANGE_MS_MAX = 1_461 * DAY_MS;

export class CostService {
  readonly #options: CostServiceOptions;
  readonly #kept = new Map<string, KeptCosts>();
  readonly #answers: OneAtATime<CostRequest, CostResult>;

  constructor(options: CostServiceOptions) {
    this.#options = options;
    this.#answers = new OneAtATime({
      thread: new URL("./cost-thread.ts", import.meta.url),
      heapMibMax: HEAP_MIB_MAX,
      answerMsMax: ANSWER_MS_MAX,
      waitingMax: WAITING_MAX,
      name: "reports of costs",
      advice: "Use headroom cost report on the machine of the control plane.",
    });
  }

  /** `teams`: those that the reader may see; `null`: all. */
  ask(query: CostsQuery, teams: ReadonlySet<string> | null, gone: AbortSignal): Promise<Costs> {
    const { nowMs, keptMs = KEPT_MS } = this.#options;
    const atMs = nowMs();
    for (const [key, kept] of this.#kept) if (atMs - kept.atMs >= keptMs) this.#kept.delete(key);
    const key = JSON.stringify([query, teams === null ? null : [...teams].toSorted()]);
    const known = this.#kept.get(key);
    if (known !== undefined) return known.answer;
    const answer = this.#answer(query, teams, { atMs, gone });
    this.#kept.set(key, { atMs, answer });
    answer.catch(() => this.#kept.delete(key));
    const [oldest = key] = this.#kept.keys();
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(oldest);
    return answer;
  }

  async #answer(
    { by, group, fromMs, toMs }: CostsQuery,
    teams: ReadonlySet<string> | null,
    { atMs, gone }: { readonly atMs: number; readonly gone: AbortSignal },
  ): Promise<Costs> {
    const endMs = Math.ceil((toMs ?? atMs) / HOUR_MS) * HOUR_MS;
    const startMs = Math.floor((fromMs ?? Math.floor(endMs / DAY_MS - DAYS_DEFAULT) * DAY_MS) / HOUR_MS) * HOUR_MS;
    if (startMs >= endMs || (fromMs ?? 0) >= (toMs ?? endMs))
      throw refuse("invalidRequest", "fromMs must be before toMs.");
    if (endMs - startMs > RANGE_MS_MAX) throw refuse("invalidRequest", "The range must not be longer than four years.");
    const { home, journal } = this.#options;
    const range = { fromMs: startMs, toMs: endMs };
    const result = await this.#answers.call(
      { home, journal, range, question: { by, group, teams }, nowMs: atMs },
      gone,
    );
    if (result.kind === "failed") throw new Error(`costs could not be computed: ${result.message}`);
    const { items, metered, ...rest } = result.answer;
    if (items.length > COST_LINES_MAX)
      throw refuse(
        "invalidRequest",
        `The answer has ${items.length} lines, more than ${COST_LINES_MAX}. Use longer periods, a shorter range or fewer fields.`,
      );
    return {
      ...rest,
      by,
      group: [...rest.group],
      unpricedPools: [...rest.unpricedPools],
      items: items.map((line) => ({ ...line, group: [...line.group] })),
      metered: metered.slice(-COST_LINES_MAX).map((line) => ({ ...line })),
      problems: teams === null ? [...result.problems] : [],
      answeredAtMs: atMs,
    };
  }

  close(): Promise<void> {
    return this.#answers.close();
  }
}
