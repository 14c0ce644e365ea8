/**
 * Imports the Standard Workload Format of the Parallel Workloads Archive
 * (cs.huji.ac.il/labs/parallel/workload/swf.html): lines of 18 numbers, -1 for unknown values, comments after a
 * semicolon. Processors become accelerators.
 */
import { cleanLine } from "./delimited.ts";
import { ImportLedger, quoted, Row } from "./row.ts";
import { traceBounds, type ImportOptions, type TraceImport, type TraceLines } from "./trace.ts";

const fieldCount = 18;
const columns: ReadonlyMap<string, number> = new Map([
  ["job number", 0],
  ["submit time", 1],
  ["wait time", 2],
  ["run time", 3],
  ["allocated processors", 4],
  ["requested processors", 7],
  ["requested time", 8],
  ["user", 11],
  ["group", 12],
]);

export function importSwf(source: TraceLines, options: ImportOptions): TraceImport {
  const ledger = new ImportLedger();
  let line = 0;
  for (const raw of source.lines) {
    line++;
    const text = cleanLine(raw, line).trim();
    if (text === "" || text.startsWith(";")) continue;
    ledger.row();
    const row = readLine(text, ledger);
    if (row.problem !== null) ledger.broken({ file: source.file, line, message: row.problem });
  }
  return ledger.finish(options, null);
}

function readLine(text: string, ledger: ImportLedger): Row {
  const fields = text.split(/\s+/);
  const row = new Row(columns, fields);
  if (fields.length !== fieldCount) row.fail(`expected ${fieldCount} fields, got ${fields.length}`);
  const stranger = fields.find((field) => !/^-?[0-9]+(\.[0-9]+)?$/.test(field));
  if (stranger !== undefined) row.fail(`expected numbers, got ${quoted(stranger)}`);
  if (row.problem !== null) return row;
  const submittedAtS = row.integer("submit time", traceBounds.submittedAtS);
  const waitS = unknownOrInteger(row, "wait time", traceBounds.durationS);
  const runS = unknownOrInteger(row, "run time", traceBounds.durationS);
  const allocated = unknownOrInteger(row, "allocated processors", traceBounds.accelerators);
  const requested = unknownOrInteger(row, "requested processors", traceBounds.accelerators);
  const requestedS = unknownOrInteger(row, "requested time", traceBounds.durationS);
  if (row.problem !== null) return row;
  if (runS === null) {
    ledger.leaveOut("neverStarted");
    return row;
  }
  const [user, account] = [row.text("user"), row.text("group")];
  ledger.job({
    id: row.text("job number"),
    submittedAtMs: submittedAtS * 1000,
    durationMs: runS * 1000,
    ...(waitS === null ? {} : { waitedMs: waitS * 1000 }),
    accelerators: allocated ?? requested ?? 0,
    coresMilli: 0,
    memoryMib: 0,
    acceleratorTypes: [],
    ...(requestedS === null ? {} : { walltimeMs: requestedS * 1000 }),
    ...(user === "-1" ? {} : { user }),
    ...(account === "-1" ? {} : { account }),
  });
  return row;
}

function unknownOrInteger(row: Row, column: string, max: number): number | null {
  return row.text(column) === "-1" ? null : row.integer(column, max);
}
