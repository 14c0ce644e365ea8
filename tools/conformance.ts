/** `npm run conformance -- local|slurm|kubernetes`: runs the conformance cases of one kind of executor. Other arguments go to Vitest. */
const tests: Readonly<Record<string, readonly string[]>> = {
  local: ["packages/executors/src/local/local-executor.test.ts", "packages/executors/src/local/two-executors.test.ts"],
  slurm: ["system", "packages/executors/src/slurm/conformance.system.test.ts"],
  kubernetes: ["system", "packages/executors/src/kubernetes/conformance.system.test.ts"],
};
/** Executors that have no conformance tests yet. */
const missing: readonly string[] = ["simulated"];

const [kind = "", ...extra] = process.argv.slice(2);
const test = Object.hasOwn(tests, kind) ? tests[kind] : undefined;
if (test === undefined) {
  const why = missing.includes(kind)
    ? `There is no conformance test of the ${kind} executor yet.`
    : "Name an executor.";
  process.stderr.write(`${why} Executors with tests: ${Object.keys(tests).join(", ")}.\n`);
  process.exit(2);
}
// Tests that take turns by commit run now.
process.env["HEADROOM_SLICE"] = "all";
process.argv.splice(2, Number.POSITIVE_INFINITY, ...test, ...extra);
await import("./test.ts");
