/** `npm run check`: all static checks. Prints each part's time and result, and the output of failed parts. */
import { spawn } from "node:child_process";
import path from "node:path";

interface Part {
  readonly name: string;
  readonly tool: string;
  readonly args: readonly string[];
}
interface Outcome {
  readonly part: Part;
  readonly passed: boolean;
  readonly seconds: number;
  readonly output: string;
}

const root = path.resolve(import.meta.dirname, "..");
/** One checker for each project: several would check what they share several times, and the other parts use the cores. */
const parts: readonly Part[] = [
  { name: "types", tool: "tsc", args: ["-b", "--pretty", "false", "--checkers", "1", "--builders", "2"] },
  {
    name: "lint and layers",
    tool: "oxlint",
    args: ["--type-aware", "--deny-warnings", "--report-unused-disable-directives-severity=error"],
  },
  { name: "format", tool: "oxfmt", args: ["--check"] },
  { name: "vocabulary", tool: "node", args: ["tools/vocabulary.ts"] },
  { name: "stray files", tool: "node", args: ["tools/stray-files.ts"] },
  { name: "reference", tool: "node", args: ["tools/reference.ts", "--check"] },
  { name: "dead code", tool: "knip", args: ["--no-progress", "--no-config-hints"] },
];

/** The tools' start scripts begin with `#!/usr/bin/env node`; the pinned Node must come first in PATH. */
function environment(): NodeJS.ProcessEnv {
  const bin = path.join(root, "node_modules", ".bin");
  return { ...process.env, PATH: `${bin}${path.delimiter}${process.env["PATH"] ?? ""}`, NO_COLOR: "1" };
}

function check(part: Part): Promise<Outcome> {
  const startedAtMs = performance.now();
  const child = spawn(path.join(root, "node_modules", ".bin", part.tool), part.args, { cwd: root, env: environment() });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => {
    const finish = (passed: boolean, extra: string): void => {
      const seconds = (performance.now() - startedAtMs) / 1000;
      resolve({ part, passed, seconds, output: Buffer.concat(chunks).toString("utf8") + extra });
    };
    child.once("error", (error) => finish(false, error.message));
    child.once("close", (code) => finish(code === 0, ""));
  });
}

const outcomes = await Promise.all(parts.map(check));
for (const { part, passed, output } of outcomes) {
  if (!passed) process.stdout.write(`--- ${part.name}\n${output.trimEnd()}\n\n`);
}
for (const { part, passed, seconds } of outcomes) {
  process.stdout.write(`${passed ? "ok    " : "FAILED"} ${part.name.padEnd(16)} ${seconds.toFixed(1).padStart(5)} s\n`);
}
process.exitCode = outcomes.every(({ passed }) => passed) ? 0 : 1;
