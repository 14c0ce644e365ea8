/** A reading of a batch script as lines, for comparison with the expected output of the scripts in `scripts/`. */
import { readDocument } from "../../read-manifest.ts";
import { readSbatchScript, type LocalClock } from "../index.ts";

const HOUR_MS = 3_600_000;
/** Wednesday, 6 January 2027, 10:00 in the local time of the tests, which is UTC. */
const NOW_MS = Date.UTC(2027, 0, 6, 10);

export const utcClock: LocalClock = {
  nowMs: NOW_MS,
  local: (ms) => {
    const at = new Date(ms);
    return {
      year: at.getUTCFullYear(),
      month: at.getUTCMonth() + 1,
      day: at.getUTCDate(),
      hour: at.getUTCHours(),
      minute: at.getUTCMinutes(),
      second: at.getUTCSeconds(),
    };
  },
  instant: ({ year, month, day, hour, minute, second }) =>
    Date.UTC(year, month - 1, day) + hour * HOUR_MS + minute * 60_000 + second * 1_000,
};

export const readText = (text: string, environment: Readonly<Record<string, string>> = {}, file = "job.sbatch") =>
  readSbatchScript({
    file,
    text,
    args: [],
    environment,
    clock: utcClock,
    isAcceleratorType: (name) => /^(?:v100|a100|h100)$/i.test(name),
  });

/** Lines of the command that depend on the options. */
const SHOWN = /^(?:exec |export SLURM_ARRAY_TASK_ID|export HEADROOM_STEP_SIGNAL|\(sleep |\/bin\/bash )/;

export function readingText(text: string, file: string): string {
  const reading = readText(text, {}, file);
  const { run, ...document } = reading.document;
  const valid = readDocument(reading.document);
  return [
    ...reading.honoured.map(({ line, directive, becomes }) => `honoured ${line} ${directive} -> ${becomes}`),
    ...reading.ignored.map(
      ({ line, directive, reason, invalid }) =>
        `${invalid === true ? "invalid" : "ignored"} ${line} ${directive}: ${reason}`,
    ),
    ...reading.problems.map((problem) => `problem ${problem}`),
    ...reading.notes.map((note) => `note ${note}`),
    ...(reading.isHeld ? ["held"] : []),
    ...(reading.exported.mode === "all" && Object.keys(reading.exported.values).length === 0
      ? []
      : [`exported ${JSON.stringify(reading.exported)}`]),
    ...Object.entries(document).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
    ...(valid.ok ? [] : [`document is invalid: ${JSON.stringify(valid.problems)}`]),
    ...String(run)
      .split("\n")
      .filter((line) => SHOWN.test(line)),
  ].join("\n");
}
