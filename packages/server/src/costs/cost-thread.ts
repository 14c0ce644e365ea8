/** Folds the journal to usage rows and bills them, outside the event loop of the control plane. */
import { parentPort } from "node:worker_threads";
import { readEvents } from "@headroom/engine";
import { openRecorded } from "@headroom/journal";
import type { JournalAddress } from "@headroom/journal";
import { HourlyRows, UsageFold, costAnswer, priceBook, withDeclaredPrices } from "@headroom/usage";
import type { BillingRange, CostAnswer, CostQuestion } from "@headroom/usage";
import { readPriceFiles } from "./price-files.ts";

export interface CostRequest {
  readonly home: string;
  readonly journal: JournalAddress;
  readonly range: BillingRange;
  readonly question: CostQuestion;
  /** Work that runs is charged up to this time. */
  readonly nowMs: number;
}

export type CostResult =
  | { readonly kind: "answered"; readonly answer: CostAnswer; readonly problems: readonly string[] }
  | { readonly kind: "failed"; readonly message: string };

function answer({ home, journal: address, range, question, nowMs }: CostRequest): CostResult {
  const journal = openRecorded(address);
  const hourly = new HourlyRows();
  const fold = new UsageFold();
  try {
    const head = journal.head();
    for (const { text } of journal.groups(0, head.sequence))
      for (const row of fold.fold(readEvents(text))) hourly.add(row);
    for (const row of fold.openRows(Math.max(nowMs, head.atMs))) hourly.add(row);
  } finally {
    journal.close();
  }
  const { documents, problems } = readPriceFiles(home);
  const book = priceBook(withDeclaredPrices(documents, fold.pools));
  if ("problem" in book) {
    const declared = priceBook(withDeclaredPrices([], fold.pools));
    if ("problem" in declared) throw new Error(declared.problem);
    const unused = [...problems, `prices: ${book.problem}; the documents are not used`];
    return { kind: "answered", answer: costAnswer({ hourly, book: declared, range }, question), problems: unused };
  }
  return { kind: "answered", answer: costAnswer({ hourly, book, range }, question), problems };
}

parentPort?.once("message", (request: CostRequest) => {
  try {
    parentPort?.postMessage(answer(request));
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ kind: "failed", message } satisfies CostResult);
  }
});
