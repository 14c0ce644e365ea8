/**
 * Runs one suite, as a process of its own that outlives the control plane: a restart finds its result, or that it still
 * runs. The folder of the run is claimed by exclusive create, so that a run is never made twice. Argument: the folder.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { runCommand } from "@headroom/platform";
import { claimRun, writeResult } from "./run-folder.ts";
import type { RunRequest, RunResult } from "./run-folder.ts";

const OUTPUT_BYTES_MAX = 4 << 20;

const folder = process.argv[2] ?? "";
const { words, env, limitMs } = JSON.parse(readFileSync(path.join(folder, "request.json"), "utf8")) as RunRequest;
if (claimRun(folder)) writeResult(folder, await run());

async function run(): Promise<RunResult> {
  const begin = Date.now();
  const [file = "", ...rest] = words;
  try {
    const output = await runCommand(file, rest, { timeoutMs: limitMs, outputMaxBytes: OUTPUT_BYTES_MAX, env });
    return { ...output, problem: null, durationMs: Math.max(0, Date.now() - begin) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { code: -1, stdout: "", stderr: "", problem, durationMs: Math.max(0, Date.now() - begin) };
  }
}
