/** Imports the openb traces: as jobs with times, or as jobs without times to draw demand from. */
import { ImportLedger, type Row } from "./row.ts";
import { readNodes, readPods, type OpenbAsk, type OpenbSources } from "./openb-table.ts";
import { traceBounds, type ImportOptions, type TraceImport } from "./trace.ts";

export function importOpenb(sources: OpenbSources, options: ImportOptions): TraceImport {
  const ledger = new ImportLedger();
  const fleet = readNodes(sources.nodes, ledger);
  if (typeof fleet === "string") return ledger.refuse(fleet);
  const complaint = readPods(sources.pods, ["creation_time", "deletion_time"], ledger, (row, ask) =>
    enterJob(row, ask, ledger),
  );
  return complaint === null ? ledger.finish(options, fleet) : ledger.refuse(complaint);
}

/**
 * Imports every pod, started or not, as a job at time 0 without an end, and the nodes with accelerators. Published
 * evaluations of placement policies (FGD, USENIX ATC '23) draw from these pods and use no times.
 */
export function importOpenbDemand(sources: OpenbSources, options: ImportOptions): TraceImport {
  const ledger = new ImportLedger();
  const fleet = readNodes(sources.nodes, ledger);
  if (typeof fleet === "string") return ledger.refuse(fleet);
  const nodes = fleet.nodes.filter(({ acceleratorCount }) => acceleratorCount > 0);
  if (nodes.length === 0) return ledger.refuse(`${sources.nodes.file}: no node has accelerators`);
  const complaint = readPods(sources.pods, [], ledger, (_row, ask) => {
    ledger.jobs.push({ ...ask, submittedAtMs: 0, durationMs: 0 });
  });
  if (complaint !== null) return ledger.refuse(complaint);
  const pools = fleet.pools.filter(({ name }) => nodes.some(({ pool }) => pool === name));
  return ledger.finish(options, { ...fleet, pools, nodes });
}

function enterJob(row: Row, ask: OpenbAsk, ledger: ImportLedger): void {
  const createdAtS = row.integer("creation_time", traceBounds.submittedAtS);
  const endsAt = row.text("deletion_time");
  const startsAt = row.text("scheduled_time");
  if (row.problem !== null) return;
  if (startsAt === "") return ledger.leaveOut("neverStarted");
  if (endsAt === "") return ledger.leaveOut("stillRunning");
  const startedAtS = row.integerFrom(startsAt, "scheduled_time", traceBounds.submittedAtS);
  const endedAtS = row.integerFrom(endsAt, "deletion_time", traceBounds.submittedAtS);
  if (endedAtS < startedAtS) row.fail(`deletion_time: ${endedAtS} lies before scheduled_time ${startedAtS}`);
  if (startedAtS < createdAtS) row.fail(`scheduled_time: ${startedAtS} lies before creation_time ${createdAtS}`);
  if (row.problem !== null) return;
  const job = { ...ask, submittedAtMs: createdAtS * 1000, durationMs: (endedAtS - startedAtS) * 1000 };
  // Work without accelerators stays, because it competes with other pods for cores and memory.
  if (job.accelerators === 0 && job.durationMs > 0) ledger.jobs.push(job);
  else ledger.job(job);
}
