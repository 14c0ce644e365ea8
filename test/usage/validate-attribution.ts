/**
 * `npm run validate:attribution -- [--first N] [--count N]`: accelerator-hours by cause of generated histories, against the held time
 * of each team that an engine counts while it replays the same journal. Prints one JSON object; the exit code is 1 if one history
 * differs. A history is a random world of the seed tests: losses, evictions, restarts, resizes, fractions, back-offs, idle reports.
 */
import { parseArgs } from "node:util";
import { readEvents } from "../../packages/engine/src/index.ts";
import { runSeed } from "../../packages/sim/test/seeds/run-seed.ts";
import { UsageFold } from "../../packages/usage/src/index.ts";
import { causeDifference } from "../../packages/usage/src/testing/cause-check.ts";
import { recountHeld } from "../../packages/usage/src/testing/held-recount.ts";

const { values } = parseArgs({
  options: {
    first: { type: "string", default: "1" },
    count: { type: "string", default: "10000" },
    json: { type: "boolean", default: false },
  },
});
const first = Number(values.first);
const count = Number(values.count);
const SHOWN_MAX = 20;

const different: string[] = [];
const stopped: string[] = [];
let rowCount = 0;
let attemptCount = 0;
let heldMilliMs = 0n;
for (let seed = first; seed < first + count; seed++) {
  let run;
  try {
    run = runSeed({ seed, restarts: "none", isChecked: false });
  } catch (error) {
    stopped.push(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
    continue;
  }
  const { byTeam, endMs } = recountHeld(run.groups);
  const fold = new UsageFold();
  const rows = run.groups.flatMap(({ text }) => fold.fold(readEvents(text)));
  rows.push(...fold.openRows(endMs));
  const difference = causeDifference(rows, { seed, endMs, byTeam });
  if (difference !== null) different.push(`seed ${seed}: ${difference}`);
  rowCount += rows.length;
  attemptCount += new Set(rows.map(({ attemptId }) => attemptId)).size;
  heldMilliMs += [...byTeam.values()].reduce((sum, amount) => sum + BigInt(amount), 0n);
  if ((seed - first + 1) % 500 === 0)
    process.stderr.write(`${seed - first + 1} of ${count}, ${different.length} differ\n`);
}
process.stdout.write(
  `${JSON.stringify({
    histories: count - stopped.length,
    stopped: stopped.slice(0, SHOWN_MAX),
    rows: rowCount,
    attempts: attemptCount,
    heldAcceleratorMs: String(heldMilliMs / 1_000n),
    different: different.length,
    shown: different.slice(0, SHOWN_MAX),
  })}\n`,
);
if (different.length > 0 || stopped.length > count / 100) process.exitCode = 1;
