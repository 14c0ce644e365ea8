/** Reads a text in pieces of a size, and lists what was read. */
import { SlurmReader, utc, type JobRow, type NodeRow, type UnreadLine, type Zone } from "../index.ts";

export interface ReadRows {
  readonly jobs: readonly JobRow[];
  readonly nodes: readonly NodeRow[];
  readonly unread: readonly UnreadLine[];
  readonly steps: number;
}

export function readRows(text: string | Uint8Array, zone: Zone = utc, pieceBytes = 1 << 20): ReadRows {
  const jobs: JobRow[] = [];
  const nodes: NodeRow[] = [];
  const unread: UnreadLine[] = [];
  let steps = 0;
  const reader = new SlurmReader(
    {
      job: (row) => void jobs.push(row),
      node: (row) => void nodes.push(row),
      unread: (line) => void unread.push(line),
      step: () => void (steps += 1),
    },
    zone,
  );
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  for (let from = 0; from < bytes.length; from += pieceBytes) reader.push(bytes.subarray(from, from + pieceBytes));
  reader.end();
  return { jobs, nodes, unread, steps };
}

/** `4_0 RUNNING 1`: the short form of jobs for comparisons. */
export function shortJobs({ jobs }: ReadRows): readonly string[] {
  return jobs.map(
    ({ id, array_task: task, state, gpus }) => `${id}${task === null ? "" : `_${task}`} ${state} ${gpus ?? "-"}`,
  );
}
