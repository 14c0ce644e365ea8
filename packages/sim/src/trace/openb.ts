/** The openb traces as work that came and went, or, without its times, as the demand that a setting draws from. */
import { ImportBook, type Row } from "./row.ts";
import { readNodes, readPods, type OpenbAsk, type OpenbSources } from "./openb-table.ts";
import { traceBounds, type ImportOptions, type TraceImport } from "./trace.ts";

export function importOpenb(sources: OpenbSources, options: ImportOptions): TraceImport {
  const book = new ImportBook();
  const fleet = readNodes(sources.nodes, book);
  if (typeof fleet === "string") return book.refuse(fleet);
  const complaint = readPods(sources.pods, ["creation_time", "deletion_time"], book, (row, ask) =>
    enterJob(row, ask, book),
  );
  return complaint === null ? book.finish(options, fleet) : book.refuse(complaint);
}

/**
 * Every pod, started or not, as a job at time 0 without an end, on the nodes that have accelerators: the population of the
 * settings in which placement policies were published (FGD, USENIX ATC '23), which know no times.
 */
export function importOpenbDemand(sources: OpenbSources, options: ImportOptions): TraceImport {
  const book = new ImportBook();
  const fleet = readNodes(sources.nodes, book);
  if (typeof fleet === "string") return book.refuse(fleet);
  const nodes = fleet.nodes.filter(({ acceleratorCount }) => acceleratorCount > 0);
  if (nodes.length === 0) return book.refuse(`${sources.nodes.file}: no node has accelerators`);
  const complaint = readPods(sources.pods, [], book, (_row, ask) => {
    book.jobs.push({ ...ask, submittedAtMs: 0, durationMs: 0 });
  });
  if (complaint !== null) return book.refuse(complaint);
  const pools = fleet.pools.filter(({ name }) => nodes.some(({ pool }) => pool === name));
  return book.finish(options, { ...fleet, pools, nodes });
}

function enterJob(row: Row, ask: OpenbAsk, book: ImportBook): void {
  const createdAtS = row.integer("creation_time", traceBounds.submittedAtS);
  const endsAt = row.text("deletion_time");
  const startsAt = row.text("scheduled_time");
  if (row.problem !== null) return;
  if (startsAt === "") return book.leaveOut("neverStarted");
  if (endsAt === "") return book.leaveOut("stillRunning");
  const startedAtS = row.integerFrom(startsAt, "scheduled_time", traceBounds.submittedAtS);
  const endedAtS = row.integerFrom(endsAt, "deletion_time", traceBounds.submittedAtS);
  if (endedAtS < startedAtS) row.fail(`deletion_time: ${endedAtS} lies before scheduled_time ${startedAtS}`);
  if (startedAtS < createdAtS) row.fail(`scheduled_time: ${startedAtS} lies before creation_time ${createdAtS}`);
  if (row.problem !== null) return;
  const job = { ...ask, submittedAtMs: createdAtS * 1000, durationMs: (endedAtS - startedAtS) * 1000 };
  // Here work without accelerators competes for cores and memory with the rest, so it stays in.
  if (job.accelerators === 0 && job.durationMs > 0) book.jobs.push(job);
  else book.job(job);
}
