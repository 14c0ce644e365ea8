/** Folds the journal to usage rows, and bills them or counts them by cause, outside the event loop of the control plane. */
import path from "node:path";
import { parentPort } from "node:worker_threads";
import { readEvents } from "@headroom/engine";
import { openRecorded } from "@headroom/journal";
import type { JournalAddress } from "@headroom/journal";
import { CAUSE_LINES_MAX } from "@headroom/protocol";
import {
  CauseTotals,
  GatewayUsage,
  HourlyRows,
  StoreFold,
  UsageFold,
  causeAnswer,
  costAnswer,
  priceBook,
  withDeclaredPrices,
} from "@headroom/usage";
import type { BillingRange, CauseAnswer, CauseGroup, CostAnswer, CostQuestion, UsageRow } from "@headroom/usage";
import { readGatewayUsage } from "./gateway-usage-files.ts";
import { openPowerReadings } from "../telemetry/power-readings.ts";
import { readPriceFiles } from "./price-files.ts";
import { readStepShares } from "./step-shares.ts";

export interface CostRequest {
  readonly kind: "costs";
  readonly home: string;
  readonly journal: JournalAddress;
  readonly range: BillingRange;
  readonly question: CostQuestion;
  /** Work that runs is charged up to this time. */
  readonly nowMs: number;
}

export interface CauseRequest {
  readonly kind: "causes";
  readonly home: string;
  readonly journal: JournalAddress;
  readonly range: BillingRange;
  readonly group: CauseGroup | null;
  /** Teams whose time is in the answer; `null`: all of them, and what nobody held. */
  readonly teams: ReadonlySet<string> | null;
  /** Work that runs is counted up to this time. */
  readonly nowMs: number;
}

export type CostResult =
  | { readonly kind: "answered"; readonly answer: CostAnswer; readonly problems: readonly string[] }
  | {
      readonly kind: "causes";
      readonly answer: CauseAnswer;
      readonly attempts: number;
      readonly measuredAttempts: number;
      readonly problems: readonly string[];
    }
  | { readonly kind: "failed"; readonly message: string };

function causes({ home, journal: address, range, group, teams, nowMs }: CauseRequest): CostResult {
  const journal = openRecorded(address);
  const totals = new CauseTotals(range, group);
  const fold = new UsageFold();
  const add = (row: UsageRow): void => {
    if (teams === null || (row.attemptId !== "" && teams.has(row.team))) totals.add(row);
  };
  try {
    const head = journal.head();
    for (const { text } of journal.groups(0, head.sequence)) for (const row of fold.fold(readEvents(text))) add(row);
    for (const row of fold.openRows(Math.max(nowMs, head.atMs))) add(row);
  } finally {
    journal.close();
  }
  const attempts = totals.attempts();
  const { byAttempt, problem } = readStepShares(home, attempts);
  return {
    kind: "causes",
    answer: causeAnswer(
      totals.hours((attemptId) => byAttempt.get(attemptId) ?? null),
      CAUSE_LINES_MAX,
    ),
    attempts: attempts.length,
    measuredAttempts: byAttempt.size,
    problems: problem === null ? [] : [problem],
  };
}

function answer({ home, journal: address, range, question, nowMs }: CostRequest): CostResult {
  const journal = openRecorded(address);
  const hourly = new HourlyRows();
  const fold = new UsageFold();
  const stores = new StoreFold();
  let untilMs = nowMs;
  try {
    const head = journal.head();
    untilMs = Math.max(nowMs, head.atMs);
    for (const { text } of journal.groups(0, head.sequence)) {
      const events = readEvents(text);
      for (const event of events) stores.fold(event);
      for (const row of fold.fold(events)) hourly.add(row);
    }
    for (const row of fold.openRows(untilMs)) hourly.add(row);
  } finally {
    journal.close();
  }
  const files = readPriceFiles(home);
  const gateways = new GatewayUsage();
  const problems = [...files.problems, ...readGatewayUsage(path.join(home, "gateway"), range.fromMs, gateways)];
  let book = priceBook(withDeclaredPrices(files.documents, fold.pools));
  if ("problem" in book) {
    problems.push(`prices: ${book.problem}; the documents are not used`);
    book = priceBook(withDeclaredPrices([], fold.pools));
  }
  if ("problem" in book) throw new Error(book.problem);
  const metered = [...stores.lines(range, untilMs, book), ...gateways.lines(range, book)];
  const power = openPowerReadings(home, range.fromMs);
  if (power.problem !== null) problems.push(power.problem);
  try {
    return { kind: "answered", answer: costAnswer({ hourly, book, range }, question, metered, power.meter), problems };
  } finally {
    power.close();
  }
}

parentPort?.once("message", (request: CostRequest | CauseRequest) => {
  try {
    parentPort?.postMessage(request.kind === "costs" ? answer(request) : causes(request));
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ kind: "failed", message } satisfies CostResult);
  }
});
