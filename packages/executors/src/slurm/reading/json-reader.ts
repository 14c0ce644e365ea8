/** Reads the JSON forms: each element of a list by itself. */
import { errorText, readElement } from "./json-answer.ts";
import { JsonRecords } from "./json-records.ts";
import { shownText, Unreadable, type RowSink } from "./rows.ts";

/** `line`: number of the line in which the JSON starts. */
export function jsonReader(sink: RowSink, line = 1): JsonRecords {
  const broken = (number: number, reason: string, text: string): void =>
    sink.unread({ line: number, reason, text: shownText(text.trim()) });
  return new JsonRecords(
    {
      record(list, text, number) {
        try {
          if (list === "errors") {
            broken(number, `Slurm reports an error: ${errorText(text)}`, text);
            return;
          }
          const read = readElement(list, text);
          if (read.kind === "job") sink.job(read.row);
          else if (read.kind === "nodes") for (const row of read.rows) sink.node(row);
        } catch (error) {
          if (!(error instanceof Unreadable)) throw error;
          broken(number, error.message, text);
        }
      },
      broken,
    },
    line,
  );
}
