/**
 * `npm run bench:slurm`: runs the same held array of one-accelerator jobs on Slurm and on Headroom, on this machine, in
 * alternating runs. The time is from the release to the last end; both sides launch real processes. Slurm uses the
 * better of two configurations, chosen with a tenth of the jobs. Headroom's decisions alone are measured separately,
 * and labelled as such. Options: `--jobs N` (10,000), `--nodes N` (4), `--slots N` (8, on each node), `--runs N` (3, of
 * each side), `--command LINE` (`exec /bin/true`), `--only slurm|headroom|decisions`, `--json`.
 */
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { measureDecisions } from "./decisions.ts";
import type { DecisionFigures } from "./decisions.ts";
import { HEADROOM_SIDE, measureHeadroom } from "./headroom-side.ts";
import { median, rounded, summarise } from "./measurement.ts";
import type { ArrayRequest, Measurement, Row } from "./measurement.ts";
import { missingPrograms, schedulerSetups, slurmVersion } from "./slurm-cluster.ts";
import type { SchedulerSetup } from "./slurm-cluster.ts";
import { measureSlurm, slurmSide } from "./slurm-side.ts";

/**
 * Divisor of the number of jobs for the runs that choose Slurm's configuration. The remaining number is enough to tell
 * two configurations apart.
 */
const CALIBRATION_PART = 10;

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "10000" },
    nodes: { type: "string", default: "4" },
    slots: { type: "string", default: "8" },
    runs: { type: "string", default: "3" },
    command: { type: "string", default: "exec /bin/true" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const request: ArrayRequest = {
  jobCount: Number(values.jobs),
  nodeCount: Number(values.nodes),
  slotsPerNode: Number(values.slots),
  command: values.command,
};
const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => interrupted.abort(new Error(`stopped by ${name}`)));
}

function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

function told(measurement: Measurement): Measurement {
  const { side, jobCount, elapsedMs } = measurement;
  note(
    `${side}: ${jobCount} jobs in ${(elapsedMs / 1000).toFixed(1)} s, ${((jobCount / elapsedMs) * 1000).toFixed(1)} a second`,
  );
  return measurement;
}

const isWanted = (part: string): boolean => values.only === undefined || values.only === part;

async function bestSetup(calibration: Measurement[]): Promise<SchedulerSetup> {
  const jobCount = Math.ceil(request.jobCount / CALIBRATION_PART);
  let best: { readonly setup: SchedulerSetup; readonly elapsedMs: number } | null = null;
  for (const setup of schedulerSetups) {
    const measured = told(await measureSlurm({ ...request, jobCount }, setup, interrupted.signal));
    calibration.push(measured);
    if (best === null || measured.elapsedMs < best.elapsedMs) best = { setup, elapsedMs: measured.elapsedMs };
  }
  if (best === null) throw new Error("there is no configuration to choose from");
  return best.setup;
}

interface Launches {
  readonly setup: SchedulerSetup | null;
  readonly calibration: readonly Measurement[];
  readonly measurements: readonly Measurement[];
}

/** The order alternates between runs, so that neither side always has the quieter machine. */
async function measureLaunches(): Promise<Launches> {
  const calibration: Measurement[] = [];
  const measurements: Measurement[] = [];
  const setup = isWanted("slurm") ? await bestSetup(calibration) : null;
  for (let run = 0; run < Number(values.runs); run++) {
    const sides = [
      ...(setup === null ? [] : [() => measureSlurm(request, setup, interrupted.signal)]),
      ...(isWanted("headroom") ? [() => measureHeadroom(request, interrupted.signal)] : []),
    ];
    for (const measure of run % 2 === 0 ? sides : sides.toReversed()) measurements.push(told(await measure()));
  }
  return { setup, calibration, measurements };
}

/**
 * Measures rounds in which all jobs end together, and rounds with one end each. The first run of each kind is a
 * warm-up.
 */
function decisions(): readonly DecisionFigures[] {
  return (["together", "singly"] as const).map((ends) => {
    measureDecisions(request, ends);
    const runs = Array.from({ length: Math.max(1, Number(values.runs)) }, () => measureDecisions(request, ends));
    const elapsedMs = median(runs.map((run) => run.elapsedMs));
    return { ...(runs[0] as DecisionFigures), elapsedMs };
  });
}

function launchTable(rows: readonly Row[]): void {
  console.log("\nWith real launches, from the release of the held array to its last end (medians):");
  console.table(
    Object.fromEntries(
      rows.map(({ side, runs, jobs, seconds, jobsPerSecond, cpuMsPerJob, loadBefore }) => [
        side,
        { runs, jobs, seconds, "jobs/s": jobsPerSecond, "CPU ms/job": cpuMsPerJob ?? "-", "load before": loadBefore },
      ]),
    ),
  );
}

function decisionTable(figures: readonly DecisionFigures[]): void {
  console.log(
    "\nHeadroom's decisions alone: the engine, nothing launched, no journal (not comparable with the table above):",
  );
  console.table(
    Object.fromEntries(
      figures.map(({ ends, elapsedMs, placementCount, roundCount, eventCount }) => [
        `ends ${ends}`,
        {
          placements: placementCount,
          rounds: roundCount,
          events: eventCount,
          seconds: rounded(elapsedMs / 1000, 3),
          "placements/s": Math.round((placementCount / elapsedMs) * 1000),
        },
      ]),
    ),
  );
}

async function main(): Promise<void> {
  const missing = isWanted("slurm") ? missingPrograms() : [];
  if (missing.length > 0) {
    note(
      `Slurm is not installed here (${missing.join(", ")} not found). On Debian: apt-get install -y slurm-wlm munge`,
    );
    note("Without it: --only headroom, or --only decisions.");
    process.exitCode = 1;
    return;
  }
  const launches = values.only === "decisions" ? null : await measureLaunches();
  const alone = isWanted("decisions") ? decisions() : [];
  const sides = [...(launches?.setup ? [slurmSide(launches.setup)] : []), HEADROOM_SIDE];
  const rows = sides.flatMap((side) => summarise(side, launches?.measurements ?? []) ?? []);
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    node: process.version,
    slurm: await slurmVersion(),
    loadAverage: readFileSync("/proc/loadavg", "utf8").trim(),
  };
  if (values.json) {
    const setups = schedulerSetups.map((setup) => ({ ...setup, isChosen: setup === launches?.setup }));
    console.log(JSON.stringify({ request, machine, setups, ...launches, rows, decisionsAlone: alone }, null, 2));
    return;
  }
  console.log(
    `${request.jobCount} jobs (${request.command}), ${request.nodeCount} nodes of ${request.slotsPerNode} slots; ${JSON.stringify(machine)}`,
  );
  if (launches?.setup)
    console.log(
      `Slurm: ${launches.setup.type}, SchedulerParameters=${launches.setup.parameters}: ${launches.setup.why}`,
    );
  if (rows.length > 0) launchTable(rows);
  if (alone.length > 0) decisionTable(alone);
}

await main();
