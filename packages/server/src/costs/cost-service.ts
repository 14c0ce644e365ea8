/** Answers questions about costs and hours by cause. Each answer folds the whole journal on a thread, so the newest answers are kept for a while. */
import type { JournalAddress } from "@headroom/journal";
import { COST_LINES_MAX, refuse } from "@headroom/protocol";
import type { CauseHours, CauseHoursQuery, Costs, CostsQuery } from "@headroom/protocol";
import { OneAtATime } from "../threads/one-at-a-time.ts";
import { SharedAnswer } from "../threads/shared-answer.ts";
import type { CauseRequest, CostRequest, CostResult } from "./cost-thread.ts";

interface CostServiceOptions {
  readonly home: string;
  readonly journal: JournalAddress;
  readonly nowMs: () => number;
  /** For how long an answer is given again, in ms; default 30 s. */
  readonly keptMs?: number;
}

interface RecentAnswer {
  readonly atMs: number;
  readonly answer: SharedAnswer<unknown>;
}

const KEPT_MS = 30_000;
const KEPT_MAX = 16;
const ANSWER_MS_MAX = 60_000;
const HEAP_MIB_MAX = 1_024;
const WAITING_MAX = 4;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_DEFAULT = 30;
const CAUSE_DAYS_DEFAULT = 7;
/** Longest range: four years of days. */
const RANGE_MS_MAX = 1_461 * DAY_MS;

export class CostService {
  readonly #options: CostServiceOptions;
  readonly #kept = new Map<string, RecentAnswer>();
  readonly #answers: OneAtATime<CostRequest | CauseRequest, CostResult>;

  constructor(options: CostServiceOptions) {
    this.#options = options;
    this.#answers = new OneAtATime({
      thread: new URL("./cost-thread.ts", import.meta.url),
      heapMibMax: HEAP_MIB_MAX,
      answerMsMax: ANSWER_MS_MAX,
      waitingMax: WAITING_MAX,
      name: "reports of costs",
      advice: "Ask for a shorter range, or for costs use headroom cost report on the machine of the control plane.",
    });
  }

  /** `teams`: those that the reader may see; `null`: all. */
  ask(query: CostsQuery, teams: ReadonlySet<string> | null, gone: AbortSignal): Promise<Costs> {
    return this.#keep(["costs", query], teams, { gone, answerAt: (at) => this.#answer(query, teams, at) });
  }

  /** `teams`: as in `ask`. */
  hours(query: CauseHoursQuery, teams: ReadonlySet<string> | null, gone: AbortSignal): Promise<CauseHours> {
    return this.#keep(["hours", query], teams, { gone, answerAt: (at) => this.#hours(query, teams, at) });
  }

  /** An answer is computed once for all who ask while it is kept, and cancelled when all of them have gone. */
  #keep<Answer>(
    question: unknown,
    teams: ReadonlySet<string> | null,
    { gone, answerAt }: { readonly gone: AbortSignal; readonly answerAt: (at: AskedAt) => Promise<Answer> },
  ): Promise<Answer> {
    const { nowMs, keptMs = KEPT_MS } = this.#options;
    const atMs = nowMs();
    for (const [key, kept] of this.#kept)
      if (atMs - kept.atMs >= keptMs || kept.answer.hasFailed) this.#kept.delete(key);
    const key = JSON.stringify([question, teams === null ? null : [...teams].toSorted()]);
    const known = this.#kept.get(key)?.answer as SharedAnswer<Answer> | undefined;
    if (known !== undefined) return known.for(gone);
    const answer = new SharedAnswer((allGone) => answerAt({ atMs, gone: allGone }));
    this.#kept.set(key, { atMs, answer });
    const [oldest = key] = this.#kept.keys();
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(oldest);
    return answer.for(gone);
  }

  async #answer(
    { by, group, fromMs, toMs }: CostsQuery,
    teams: ReadonlySet<string> | null,
    { atMs, gone }: AskedAt,
  ): Promise<Costs> {
    const endMs = Math.ceil((toMs ?? atMs) / HOUR_MS) * HOUR_MS;
    const startMs = Math.floor((fromMs ?? Math.floor(endMs / DAY_MS - DAYS_DEFAULT) * DAY_MS) / HOUR_MS) * HOUR_MS;
    checkRange({ fromMs: fromMs ?? startMs, toMs: toMs ?? endMs });
    checkRange({ fromMs: startMs, toMs: endMs });
    const { home, journal } = this.#options;
    const range = { fromMs: startMs, toMs: endMs };
    const result = await this.#answers.call(
      { kind: "costs", home, journal, range, question: { by, group, teams }, nowMs: atMs },
      gone,
    );
    if (result.kind !== "answered") throw unanswered("costs", result);
    const { items, metered, ...rest } = result.answer;
    checkLines(items.length, COST_LINES_MAX);
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

  async #hours(
    { group: field, fromMs, toMs }: CauseHoursQuery,
    teams: ReadonlySet<string> | null,
    { atMs, gone }: AskedAt,
  ): Promise<CauseHours> {
    const group = field ?? null;
    const endMs = toMs ?? atMs;
    const range = { fromMs: fromMs ?? endMs - CAUSE_DAYS_DEFAULT * DAY_MS, toMs: endMs };
    checkRange(range);
    const { home, journal } = this.#options;
    const result = await this.#answers.call({ kind: "causes", home, journal, range, group, teams, nowMs: atMs }, gone);
    if (result.kind !== "causes") throw unanswered("hours by cause", result);
    const { answer, attempts, measuredAttempts, problems } = result;
    return {
      ...range,
      group,
      ...answer,
      attempts,
      measuredAttempts,
      problems: [...problems],
      answeredAtMs: atMs,
    };
  }

  close(): Promise<void> {
    return this.#answers.close();
  }
}

interface AskedAt {
  readonly atMs: number;
  readonly gone: AbortSignal;
}

function checkRange({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): void {
  if (fromMs >= toMs) throw refuse("invalidRequest", "fromMs must be before toMs.");
  if (toMs - fromMs > RANGE_MS_MAX) throw refuse("invalidRequest", "The range must not be longer than four years.");
}

function checkLines(count: number, max: number): void {
  if (count <= max) return;
  throw refuse(
    "invalidRequest",
    `The answer has ${count} lines, more than ${max}. Use longer periods, a shorter range or fewer fields.`,
  );
}

const unanswered = (name: string, result: CostResult): Error =>
  new Error(`${name} could not be computed: ${result.kind === "failed" ? result.message : "another answer came"}`);
