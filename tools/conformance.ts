/** `npm run conformance -- local|slurm|kubernetes|simulated`: runs the conformance cases of one kind of executor. Other arguments go to Vitest. */
const tests: Readonly<Record<string, readonly string[]>> = {
  local: ["packages/executors/src/local/local-executor.test.ts", "packages/executors/src/local/two-executors.test.ts"],
  slurm: ["system", "packages/executors/src/slurm/conformance.system.test.ts"],
  kubernetes: ["system", "packages/executors/src/kubernetes/conformance.system.test.ts"],
  simulated: ["test/conformance/simulated-executor.test.ts"],
};

const [kind = "", ...extra] = process.argv.slice(2);
const test = Object.hasOwn(tests, kind) ? tests[kind] : undefined;
if (test === undefined) {
  process.stderr.write(`Name an executor: ${Object.keys(tests).join(", ")}.\n`);
  process.exit(2);
}
// Tests that take turns by commit run now.
process.env["HEADROOM_SLICE"] = "all";
process.argv.splice(2, Number.POSITIVE_INFINITY, ...test, ...extra);
await import("./test.ts");
