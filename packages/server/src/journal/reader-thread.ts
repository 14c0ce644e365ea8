/** Reads pages of the journal for readers that have fallen behind, away from the driver's event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { openForReading } from "./database.ts";
import { toErrorMessage } from "./journal-error.ts";
import { JournalReader } from "./journal-reader.ts";
import type { ReaderAnswer, ReaderData, ReaderRequest } from "./reader-messages.ts";

/** UTF-16 units of text in a page: parsing it costs the asking thread about two milliseconds. */
const PAGE_TEXT_MAX = 256 * 1024;

function serve({ directory }: ReaderData): void {
  const reader = new JournalReader(openForReading(directory));
  parentPort?.on("message", ({ fromSequence }: ReaderRequest) => {
    let answer: ReaderAnswer;
    try {
      answer = { kind: "page", groups: reader.page(fromSequence, PAGE_TEXT_MAX) };
    } catch (error) {
      answer = { kind: "failed", error: toErrorMessage(error, "reading", directory) };
    }
    parentPort?.postMessage(answer);
  });
}

serve(workerData as ReaderData);
