/** Reads journal pages for readers that have fallen behind, outside the driver's event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { openForReading } from "./database.ts";
import { frameGroups } from "./event-page.ts";
import { toErrorMessage } from "./journal-error.ts";
import { JournalReader } from "./journal-reader.ts";
import type { ReaderAnswer, ReaderData, ReaderRequest } from "./reader-messages.ts";

/**
 * Length of the text of a page in UTF-16 units. Parsing a page takes about two milliseconds of the thread that asks.
 */
const PAGE_TEXT_MAX = 256 * 1024;

function serve({ directory }: ReaderData): void {
  const reader = new JournalReader(openForReading(directory));
  parentPort?.on("message", (request: ReaderRequest) => {
    try {
      answer(reader, request);
    } catch (error) {
      tell({ kind: "failed", error: toErrorMessage(error, "reading", directory) });
    }
  });
}

function answer(reader: JournalReader, request: ReaderRequest): void {
  const { fromSequence } = request;
  if (request.kind === "mentions") {
    tell({ kind: "mentions", page: reader.mentions(fromSequence, request.text, PAGE_TEXT_MAX) });
    return;
  }
  const groups = reader.page(fromSequence, PAGE_TEXT_MAX);
  if (request.kind === "groups") {
    tell({ kind: "groups", groups });
    return;
  }
  const page = frameGroups(groups, request.format);
  tell({ kind: "page", page }, [page.bytes.buffer, page.ends.buffer]);
}

/** Buffers are moved to the other thread without a copy. */
function tell(answer: ReaderAnswer, transferred: ArrayBuffer[] = []): void {
  parentPort?.postMessage(answer, transferred);
}

serve(workerData as ReaderData);
