/**
 * Imports the accounting of a Slurm cluster as `sacct --allusers --parsable2
 * --format=JobID,Submit,Start,End,AllocTRES,State` prints it (slurm.schedmd.com/sacct.html). Steps (`12.batch`, `12.0`)
 * repeat the data of their job and are left out; each task of an array (`12_3`) is a job. Times have no time zone; only
 * their differences matter here. The columns `User`, `Account` and `Timelimit` are read if present.
 */
import { readTable } from "./delimited.ts";
import { ImportLedger, plainInteger, quoted, type Row } from "./row.ts";
import { traceBounds, type ImportOptions, type TraceImport, type TraceLines } from "./trace.ts";

const required = ["JobID", "Submit", "Start", "End", "AllocTRES"];

export function importSacct(source: TraceLines, options: ImportOptions): TraceImport {
  const ledger = new ImportLedger();
  const complaint = readTable(source, { delimiter: "|", required, quotes: "literal" }, ledger, (row) =>
    readJob(row, ledger),
  );
  return complaint === null ? ledger.finish(options, null) : ledger.refuse(complaint);
}

function readJob(row: Row, ledger: ImportLedger): void {
  const id = row.text("JobID");
  if (id === "") row.fail("JobID: is empty");
  if (id.includes(".")) return ledger.leaveOut("steps");
  if (isAbsent(row.text("Start"))) return ledger.leaveOut("neverStarted");
  if (isAbsent(row.text("End"))) return ledger.leaveOut("stillRunning");
  const submittedAtS = readTime(row, "Submit");
  const startedAtS = readTime(row, "Start");
  const endedAtS = readTime(row, "End");
  const accelerators = readAccelerators(row);
  const limitS = readTimeLimit(row);
  if (endedAtS < startedAtS) row.fail(`End: ${row.text("End")} lies before Start ${row.text("Start")}`);
  if (startedAtS < submittedAtS) row.fail(`Start: ${row.text("Start")} lies before Submit ${row.text("Submit")}`);
  if (row.problem !== null) return;
  const [user, account] = [row.text("User"), row.text("Account")];
  ledger.job({
    id,
    submittedAtMs: submittedAtS * 1000,
    // A suspended job kept its accelerators, so its duration is not `Elapsed`.
    durationMs: (endedAtS - startedAtS) * 1000,
    waitedMs: (startedAtS - submittedAtS) * 1000,
    accelerators,
    coresMilli: 0,
    memoryMib: 0,
    acceleratorTypes: [],
    // Slurm lets a job run over its limit for a while; the recorded run is within the walltime in any case.
    ...(limitS === null ? {} : { walltimeMs: Math.max(limitS, endedAtS - startedAtS) * 1000 }),
    ...(user === "" ? {} : { user }),
    ...(account === "" ? {} : { account }),
  });
}

/** Whether sacct printed no time, because the event has not happened or never will. */
function isAbsent(text: string): boolean {
  return text === "Unknown" || text === "None" || text === "N/A" || text === "";
}

/** Seconds of `days-hours:minutes:seconds`; `null`: the job had no limit, or the file has no such column. */
function readTimeLimit(row: Row): number | null {
  const text = row.text("Timelimit");
  if (["", "UNLIMITED", "Partition_Limit"].includes(text)) return null;
  const match = /^(?:(\d{1,5})-)?(\d{1,5}):(\d\d):(\d\d)$/.exec(text);
  if (match === null) {
    row.fail(`Timelimit: expected a limit such as 2-00:00:00 or UNLIMITED, got ${quoted(text)}`);
    return null;
  }
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0));
  const limitS = days * 86_400 + hours * 3600 + minutes * 60 + seconds;
  return limitS > 0 && limitS <= traceBounds.durationS ? limitS : null;
}

const timePattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$/;

/**
 * Seconds since 1970 in the time zone of the text. A text that already is a number of seconds (SLURM_TIME_FORMAT=%s)
 * stays that number.
 */
function readTime(row: Row, column: string): number {
  const text = row.text(column);
  const match = timePattern.exec(text);
  if (match === null) {
    if (plainInteger(text) !== null) return row.integer(column, traceBounds.submittedAtS);
    row.fail(`${column}: expected a time such as 2025-01-31T08:15:00, got ${quoted(text)}`);
    return 0;
  }
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  const isDate = year >= 1970 && day >= 1 && day <= (monthDays(year)[month - 1] ?? 0);
  if (!isDate || hour > 23 || minute > 59 || second > 60) row.fail(`${column}: the time ${text} does not exist`);
  return daysFromCivil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
}

function monthDays(year: number): readonly number[] {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
}

/**
 * Number of days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date
 * algorithms").
 */
function daysFromCivil(year: number, month: number, day: number): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/**
 * Number of GPUs in a text such as `billing=64,cpu=64,gres/gpu=8,gres/gpu:a100=8,mem=900G,node=1`: the count without a
 * type, or else the sum of the counts with a type.
 */
function readAccelerators(row: Row): number {
  let typed = 0;
  for (const entry of row.text("AllocTRES").split(",")) {
    const equals = entry.indexOf("=");
    const name = equals < 0 ? entry : entry.slice(0, equals);
    if (name !== "gres/gpu" && !name.startsWith("gres/gpu:")) continue;
    const count = row.integerFrom(entry.slice(equals + 1), name, traceBounds.accelerators);
    if (name === "gres/gpu") return count;
    typed += count;
  }
  if (typed > traceBounds.accelerators) row.fail(`AllocTRES: more than ${traceBounds.accelerators} GPUs`);
  return typed;
}
