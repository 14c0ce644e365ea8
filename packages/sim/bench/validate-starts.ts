/**
 * `npm run validate:starts -- FILE --gpus N [--policy default,fifo] [--effort N] [--seed N] [--json]`: accuracy of
 * start estimates on an ITP trace on a pool of N accelerators. Every waiting job gets its estimate at its submission,
 * from finished work alone; then its real start is compared with it. Fields are explained at `StartValidationResult`.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { presets } from "@headroom/model";
import { importItp, StartValidation, type StartValidationResult, type TraceJob } from "@headroom/sim";

const usage = "npm run validate:starts -- FILE --gpus N [--policy default,fifo] [--effort N] [--seed N] [--json]";

/** Effort of the published figures, enough for 32 scenarios when 300 workloads wait. */
const usualEffort = "10000";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    gpus: { type: "string" },
    policy: { type: "string", default: "default,fifo" },
    effort: { type: "string", default: usualEffort },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});

function refuse(why: string): never {
  process.stderr.write(`${why}\n${usage}\n`);
  process.exit(2);
}

function whole(name: string, text: string | undefined): number {
  if (text === undefined || !/^[1-9][0-9]{0,8}$/.test(text)) refuse(`--${name}: a whole number is needed`);
  return Number(text);
}

function jobsOf(file: string): readonly TraceJob[] {
  const imported = importItp({ file, lines: readFileSync(file, "utf8").split("\n") }, { skipBroken: false });
  if (imported.kind === "refused") refuse(`${file}: ${imported.reason}`);
  return imported.trace.jobs;
}

function validate(jobs: readonly TraceJob[], policyName: string): StartValidationResult {
  const policy = presets.get(policyName) ?? refuse(`--policy: there is no preset ${policyName}`);
  const accelerators = whole("gpus", values.gpus);
  const options = { seed: whole("seed", values.seed), effort: whole("effort", values.effort) };
  const run = new StartValidation({ jobs, accelerators, policy, ...options });
  while (run.advance());
  return run.result();
}

const [file] = positionals;
if (file === undefined || positionals.length !== 1) refuse("FILE: one trace is needed");
const jobs = jobsOf(file);
const results = values.policy.split(",").map((policy) => ({ trace: `itp:${file}`, ...validate(jobs, policy) }));
if (values.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
else {
  for (const result of results) {
    const percent = (share: number): string => `${(share * 100).toFixed(1)}%`;
    process.stdout.write(
      [
        `${result.trace}, ${result.accelerators} accelerators, ${result.policy}`,
        `  ${result.jobs} jobs: ${result.started_at_once} started at once, ${result.waited} waited longer than ${result.waited_longer_than_s} s (${result.mean_wait_s} s on average)`,
        `  real start within the 80% range: ${percent(result.within_share)} (before it ${percent(result.earlier_share)}, after it ${percent(result.later_share)}; uncalibrated ${percent(result.uncalibrated_within_share)})`,
        `  pinball loss at 10 and 90%: ${result.pinball_s} s, ${result.pinball_ratio} of that of past waits by size (${result.past_waits_pinball_s} s)`,
        "",
      ].join("\n"),
    );
  }
}
