/**
 * Simulates a year of 10,000 accelerators in one pool without topology. The generator's usual mix (1 to 32
 * accelerators, from a minute to a weekend) at an offered load of 0.8 gives about 2.7 million jobs. `npm run bench year
 * [POLICY] [DAYS]` prints JSON.
 */
import { presets } from "@headroom/model";
import { generateTrace, simulate, topologyFreePool, usualDurations, usualGangs } from "@headroom/sim";

const accelerators = 10_000;
const load = 0.8;
const [policy = "default", days = "365"] = process.argv.slice(2);
const spanS = Number(days) * 86_400;

/** A sample that gives the mean accelerator time of a job. The number of jobs follows from it and from the load. */
const sample = generateTrace({
  seed: 2,
  jobs: 100_000,
  accelerators,
  load,
  gangs: usualGangs,
  ...usualDurations,
}).jobs;
const acceleratorMs = sample.reduce((sum, job) => sum + job.accelerators * job.durationMs, 0) / sample.length;
const jobs = Math.round((load * accelerators * spanS * 1000) / acceleratorMs);

const trace = generateTrace({ seed: 1, jobs, accelerators, load, gangs: usualGangs, ...usualDurations });
const startedAt = process.hrtime.bigint();
const before = process.cpuUsage();
const result = simulate({
  trace,
  fleet: topologyFreePool(accelerators),
  policy: presets.get(policy)!,
  faults: null,
  startupMs: 0,
});
const { user, system } = process.cpuUsage(before);
const days_simulated = Math.round(trace.jobs.at(-1)!.submittedAtMs / 86_400_000);
process.stdout.write(
  `${JSON.stringify({
    policy,
    accelerators,
    offered_load: load,
    jobs,
    days_simulated,
    wall_s: Number(process.hrtime.bigint() - startedAt) / 1e9,
    cpu_s: (user + system) / 1e6,
    journal_events: result.journal_events,
    utilisation: result.utilisation,
    mean_wait_s: result.mean_wait_s,
    peak_mib: Math.round(process.resourceUsage().maxRSS / 1024),
    digest: result.digest,
  })}\n`,
);
