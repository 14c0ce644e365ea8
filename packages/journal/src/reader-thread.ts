/** Reads pages of the journal for readers that have fallen behind, away from the driver's event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { openForReading } from "./database.ts";
import { frameGroups } from "./event-page.ts";
import { toErrorMessage } from "./journal-error.ts";
import { JournalReader } from "./journal-reader.ts";
import type { ReaderAnswer, ReaderData, ReaderRequest } from "./reader-messages.ts";

/** UTF-16 units of text in a page: parsing it costs the asking thread about two milliseconds. */
const PAGE_TEXT_MAX = 256 * 1024;

function serve({ directory }: ReaderData): void {
  const reader = new JournalReader(openForReading(directory));
  parentPort?.on("message", ({ fromSequence, format }: ReaderRequest) => {
    try {
      const groups = reader.page(fromSequence, PAGE_TEXT_MAX);
      if (format === null) tell({ kind: "groups", groups });
      else {
        const page = frameGroups(groups, format);
        tell({ kind: "page", page }, [page.bytes.buffer, page.ends.buffer]);
      }
    } catch (error) {
      tell({ kind: "failed", error: toErrorMessage(error, "reading", directory) });
    }
  });
}

/** Transferred buffers are handed over without a copy. */
function tell(answer: ReaderAnswer, transferred: ArrayBuffer[] = []): void {
  parentPort?.postMessage(answer, transferred);
}

serve(workerData as ReaderData);
