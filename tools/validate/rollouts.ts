/**
 * `npm run validate:rollouts [-- --json] [--rollouts 1000]`: plays generated rollouts and measures the sequential test.
 * The exit code is 1 if more than 1% of the rollouts without a regression are aborted, or if a planted regression needs
 * more than a third of the requests of a fixed-horizon test that finds as many of them.
 */
import { parseArgs } from "node:util";
import { detection, falseAlarms, noRegression } from "@headroom/autoscale";
import type { Detection, Regression, RolloutFigure } from "@headroom/autoscale";

const FALSE_ALARMS_MAX = 0.01;
const SHARE_MAX = 1 / 3;

const { values } = parseArgs({
  options: { json: { type: "boolean", default: false }, rollouts: { type: "string", default: "1000" } },
});
const rollouts = Number(values.rollouts);

const planted: readonly (readonly [string, Exclude<RolloutFigure, "quality">, Regression, number])[] = [
  ["5% errors", "errorRate", { ...noRegression, errorRate: 0.05 }, 1500],
  ["+20% TTFT", "ttft", { ...noRegression, ttft: 1.2 }, 1000],
  ["+10% TPOT", "tpot", { ...noRegression, tpot: 1.1 }, 1500],
];

const aborted = falseAlarms(rollouts, { requests: 4000 });
const abortedUnstratified = falseAlarms(Math.ceil(rollouts / 10), { requests: 1000, isStratified: false });
const found = planted.map(([name, figure, regression, requests]) => ({
  name,
  ...detection(figure, regression, { rollouts: 10 * rollouts, requests }),
}));

const shareOf = ({ meanRequests, fixedRequests }: Detection): number =>
  fixedRequests === null ? 0 : meanRequests / fixedRequests;
const isKept =
  aborted <= FALSE_ALARMS_MAX * rollouts && found.every((each) => each.found > 0 && shareOf(each) <= SHARE_MAX);

if (values.json) {
  const regressions = found.map((each) => ({
    name: each.name,
    rollouts: each.rollouts,
    found: each.found,
    mean_requests: Number(each.meanRequests.toFixed(1)),
    fixed_horizon_requests: each.fixedRequests,
    share: Number(shareOf(each).toFixed(3)),
  }));
  process.stdout.write(
    `${JSON.stringify({ rollouts, aborted, aborted_without_strata_pct: (100 * abortedUnstratified) / Math.ceil(rollouts / 10), regressions, kept: isKept })}\n`,
  );
} else {
  process.stdout.write(`without a regression   ${aborted} of ${rollouts} rollouts aborted (at most 1%)\n`);
  process.stdout.write(
    `                       ${abortedUnstratified} of ${Math.ceil(rollouts / 10)} if warm and cold caches were compared with each other\n`,
  );
  for (const each of found)
    process.stdout.write(
      `${each.name.padEnd(22)} ${each.found} of ${each.rollouts} found, after ${each.meanRequests.toFixed(0)} requests of the canary on average; a fixed horizon needs ${each.fixedRequests ?? "more than looked at"} (share ${shareOf(each).toFixed(2)})\n`,
    );
}
process.exitCode = isKept ? 0 : 1;
