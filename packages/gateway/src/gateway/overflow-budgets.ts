/**
 * Counts what the budgets of overflows have spent in their period, from the usage files of this gateway, before the first
 * request may leave. A document of an endpoint can bring a budget at any time.
 */
import type { LimitSource } from "../limits/account.ts";
import { periodStartMs } from "../limits/window.ts";
import type { Pool } from "../replicas/pool.ts";
import { SpendingReader } from "../usage/reader.ts";
import type { UsageLog } from "../usage/usage-log.ts";

interface BudgetParts {
  readonly directory: string;
  readonly usage: Pick<UsageLog, "flush" | "isFailing">;
  readonly limits: LimitSource;
  pools(): Iterable<Pool>;
  now(): number;
  log(line: string): void;
}

export class OverflowBudgets {
  readonly #parts: BudgetParts;
  readonly #counting = new Set<string>();
  #lastFailure = "";

  constructor(parts: BudgetParts) {
    this.#parts = parts;
  }

  /** Called when policies may have changed, and about once a second. A budget that cannot be counted lets nothing leave. */
  async check(): Promise<void> {
    const waiting: Promise<void>[] = [];
    for (const pool of this.#parts.pools()) {
      const { overflow } = pool;
      if (overflow?.budget === undefined || overflow.isSpentKnown || this.#counting.has(overflow.budget.id)) continue;
      this.#counting.add(overflow.budget.id);
      const { id } = overflow.budget;
      const counted = this.#count(pool).catch((error: unknown) => this.#failed(pool.name, error));
      waiting.push(counted.finally(() => this.#counting.delete(id)));
    }
    await Promise.all(waiting);
  }

  #failed(pool: string, error: unknown): void {
    const failure = `pool ${pool}: nothing overflows, because the usage files that say what its budget has spent cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    if (failure !== this.#lastFailure) this.#parts.log(failure);
    this.#lastFailure = failure;
  }

  async #count(pool: Pool): Promise<void> {
    const { directory, usage, limits, now } = this.#parts;
    const { budget, policy } = pool.overflow ?? {};
    if (budget?.period === undefined || policy === undefined) return;
    const reader = new SpendingReader(directory, periodStartMs(budget.period, now()), ({ overflow }) => overflow);
    while (reader.readBlock()) await new Promise((resolve) => setImmediate(resolve));
    // From here to the end nothing waits: no request leaves between the reading of the records and the budget.
    usage.flush();
    if (usage.isFailing) return;
    while (reader.readBlock());
    limits.countSpent(budget, reader.spent().get(policy.name) ?? 0);
    const present = pool.overflow;
    if (present?.budget?.id === budget.id) present.isSpentKnown = true;
  }
}
