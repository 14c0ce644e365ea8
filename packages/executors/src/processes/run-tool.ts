/** Runs a program of this machine to its end: words that no shell reads, bounded output, a time limit. */
import { execFile } from "node:child_process";

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

export interface ToolResult {
  /** Not 0 also if the program cannot be started, or is ended at its time limit. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function runTool(file: string, words: readonly string[], timeoutMs: number): Promise<ToolResult> {
  return new Promise((resolve) => {
    const options = { timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: OUTPUT_MAX_BYTES, cwd: "/" } as const;
    execFile(file, words, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr: stderr.trim() || (error?.message ?? "") });
    });
  });
}
