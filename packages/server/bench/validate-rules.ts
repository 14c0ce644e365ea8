/**
 * `npm run validate:rules -- [--worlds 10000] [--seed 1] [--minutes 30] [--json]`: random worlds with data rules, in which real bytes
 * move through staging, caches, uploads and checkpoint drains. Exit code 1: bytes are outside the places of their rule. A
 * part that ends at its time names the seed with which the next one begins.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { playRuleWorld } from "../src/stores/testing/rule-world.ts";
import type { RuleWorldCounts } from "../src/stores/testing/rule-world-counts.ts";

const { values } = parseArgs({
  options: {
    worlds: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "30" },
    json: { type: "boolean", default: false },
  },
});
const [worlds, first, minutes] = [values.worlds, values.seed, values.minutes].map(Number) as [number, number, number];
if (![worlds, first, minutes].every((each) => Number.isSafeInteger(each) && each > 0)) {
  process.stderr.write(
    "npm run validate:rules -- [--worlds 10000] [--seed 1] [--minutes 30] [--json]: whole numbers above 0 are needed\n",
  );
  process.exit(2);
}

const sums: Partial<Record<keyof RuleWorldCounts, number>> = {};
const leaks: string[] = [];
const untilMs = performance.now() + minutes * 60_000;
let next = first;
for (; next < first + worlds && performance.now() < untilMs; next++) {
  const dir = mkdtempSync(path.join(tmpdir(), "headroom-rules-"));
  try {
    const { leaks: found, ...counts } = await playRuleWorld(next, dir);
    leaks.push(...found.map((leak) => `seed ${next}: ${leak}`));
    for (const [key, count] of Object.entries(counts) as [keyof RuleWorldCounts, number][])
      sums[key] = (sums[key] ?? 0) + count;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
const played = next - first;
const more = played < worlds ? ` Go on with --seed ${next} --worlds ${worlds - played}.` : "";
const text = `${played} worlds, ${sums.started ?? 0} starts and ${sums.refusedStarts ?? 0} refused ones, ${sums.uploads ?? 0} uploads, ${sums.drains ?? 0} checkpoints in stores, ${sums.clusterStarts ?? 0} starts on nodes with a shared directory, ${sums.mlflowUploads ?? 0} MLflow artifacts and ${sums.mlflowRefusals ?? 0} refused ones, ${sums.mlflowLinks ?? 0} before the link of their run, ${sums.files ?? 0} files of which ${sums.ruled ?? 0} have a rule: ${leaks.length} outside their places.${more}`;
process.stdout.write(
  values.json ? `${JSON.stringify({ worlds: played, next, ...sums, leaks })}\n` : `${[text, ...leaks].join("\n")}\n`,
);
process.exitCode = leaks.length === 0 ? 0 : 1;
