/**
 * `npm run validate:inference -- FILE.csv [--json] [--leave-out] [--refit] [--all]`: what the inference model says about
 * published measurements. `--leave-out` fits the constants again without each accelerator and without each source and
 * scores what was left out; `--refit` prints constants fitted to the file. Only rows with `score` 1 count (all
 * where the file has no such column) unless `--all`.
 */
import { parseArgs } from "node:util";

import { fittedInference } from "../../packages/perf/src/index.ts";
import { readCases } from "./inference-cases.ts";
import { fit, leaveOut, spreadsOf } from "./inference-fit.ts";
import { abstentionTable, groupNames, observe, reportOf, tableOf } from "./inference-score.ts";

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      "leave-out": { type: "boolean", default: false },
      refit: { type: "boolean", default: false },
      all: { type: "boolean", default: false },
    },
  });
  const file = positionals[0];
  if (file === undefined) {
    process.stderr.write("usage: npm run validate:inference -- FILE.csv [--json] [--leave-out] [--refit] [--all]\n");
    process.exitCode = 2;
    return;
  }
  const { cases, abstentions } = readCases(file, values.all);
  const groups = groupNames(cases);
  const observations = observe(cases, groups, fittedInference);
  const reports = [{ title: "as shipped, by source", report: reportOf(observations, (one) => one.group) }];
  const firstTokens = observe(cases, groups, fittedInference, ["ttft"]);
  if (firstTokens.length > 0) {
    reports.push({ title: "time to first token, not scored", report: reportOf(firstTokens, (one) => one.group) });
  }
  let constants = fittedInference;
  if (values["leave-out"] || values.refit) {
    const accelerators = leaveOut(cases, groups, (one) => one.accelerator);
    const sources = leaveOut(cases, groups, (one) => groups.get(one.source) ?? one.source);
    reports.push(
      { title: "accelerator left out", report: reportOf(accelerators, (one) => one.accelerator) },
      { title: "accelerator left out, by source", report: reportOf(accelerators, (one) => one.group) },
      { title: "source left out", report: reportOf(sources, (one) => one.group) },
    );
    if (values.refit) constants = { ...fit(cases, groups), ...spreadsOf(accelerators) };
  }
  if (values.json) {
    const result = { reports, abstentions, observations, ...(values.refit ? { constants } : {}) };
    process.stdout.write(`${JSON.stringify(result, undefined, 1)}\n`);
    return;
  }
  for (const { title, report } of reports) process.stdout.write(`${tableOf(title, report)}\n\n`);
  process.stdout.write(`${abstentionTable(abstentions, cases.length + abstentions.length)}\n`);
  if (values.refit) {
    for (const [name, value] of Object.entries(constants)) process.stdout.write(`${name} ${value.toPrecision(3)}\n`);
  }
}

main();
