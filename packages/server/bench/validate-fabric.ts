/**
 * `npm run validate:fabric -- [--gangs 1000] [--seed 1] [--json]`: random gangs with fabric and spread constraints, placed by a
 * control plane on labelled nodes and by a simulation of the same documents. Exit code 1: some are placed differently.
 */
import { parseArgs } from "node:util";
import { compareFabric } from "../src/executors/testing/fabric-worlds.ts";

const { values } = parseArgs({
  options: {
    gangs: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const GANGS_OF_A_WORLD = 10;
const wanted = Number(values.gangs);
const first = Number(values.seed);
if (!Number.isSafeInteger(wanted) || wanted < 1 || !Number.isSafeInteger(first)) {
  process.stderr.write("npm run validate:fabric -- [--gangs 1000] [--seed 1] [--json]: whole numbers are needed\n");
  process.exit(2);
}

const result = { worlds: 0, gangs: 0, placed: 0, different: [] as string[] };
for (let seed = first; result.gangs < wanted; seed++) {
  const { gangs, placed, different } = await compareFabric(seed, Math.min(GANGS_OF_A_WORLD, wanted - result.gangs));
  result.worlds++;
  result.gangs += gangs;
  result.placed += placed;
  result.different.push(...different.map((text) => `seed ${seed}, ${text}`));
}
const text = `${result.gangs} gangs in ${result.worlds} fleets, ${result.placed} placed at once: ${result.different.length} placed differently`;
process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `${[text, ...result.different].join("\n")}\n`);
process.exitCode = result.different.length === 0 ? 0 : 1;
