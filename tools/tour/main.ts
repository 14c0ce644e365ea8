/**
 * `npm run tour`: uses the product with real processes and checks the results by assertions. `--chapter NAME`
 * (repeatable) runs one chapter and the chapters that it needs, `--list` prints their names, `--json` prints a report
 * for programs. Exit code 1: an assertion failed.
 */
import { parseArgs } from "node:util";
import { chapters } from "./chapters/index.ts";
import { whyNoSlurmChapter } from "./chapters/slurm-cluster.ts";
import { runTour, selectChapters } from "./run-tour.ts";

const { values } = parseArgs({
  options: {
    chapter: { type: "string", multiple: true, default: [] },
    list: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

async function main(): Promise<number> {
  if (values.list) {
    for (const { name, shows } of chapters) process.stdout.write(`${name.padEnd(22)}${shows}\n`);
    return 0;
  }
  const missing = whyNoSlurmChapter();
  if (missing !== null) process.stderr.write(`The chapter slurm-cluster is left out: ${missing}\n`);
  const interruption = new AbortController();
  process.once("SIGINT", () => interruption.abort());
  const print = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);
  const report = await runTour(selectChapters(chapters, values.chapter), print, interruption.signal);
  const checks = report.chapters.flatMap((chapter) => chapter.checks);
  const passed = checks.filter((check) => check.passed).length;
  print(`\nThe tour ${report.outcome}: ${passed} of ${checks.length} assertions in ${report.seconds.toFixed(0)} s.`);
  if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return report.outcome === "passed" ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
