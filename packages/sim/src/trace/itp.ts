/**
 * The ITP format of the ElasticFlow traces (github.com/microsoft/elasticflow-traces): one line for each training job,
 * times in whole seconds.
 */
import { readTable } from "./delimited.ts";
import { ImportLedger } from "./row.ts";
import { traceBounds, type ImportOptions, type TraceImport, type TraceLines } from "./trace.ts";

const required = ["job_id", "submission_time", "duration", "num_gpu"];

export function importItp(source: TraceLines, options: ImportOptions): TraceImport {
  const ledger = new ImportLedger();
  const complaint = readTable(source, { delimiter: ",", required, quotes: "rfc4180" }, ledger, (row) => {
    const submittedAtMs = row.integer("submission_time", traceBounds.submittedAtS) * 1000;
    const durationMs = row.integer("duration", traceBounds.durationS) * 1000;
    const accelerators = row.integer("num_gpu", traceBounds.accelerators);
    if (row.problem !== null) return;
    const id = row.text("job_id");
    ledger.job({ id, submittedAtMs, durationMs, accelerators, coresMilli: 0, memoryMib: 0, acceleratorTypes: [] });
  });
  return complaint === null ? ledger.finish(options, null) : ledger.refuse(complaint);
}
