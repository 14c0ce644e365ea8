/** Runs the program as a separate process: starts it, waits until it prints a line, and sends signals. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

const main = path.resolve(import.meta.dirname, "..", "main.ts");

export interface RunningProgram {
  readonly process: ChildProcess;
  /** Output so far, of both streams. */
  output(): string;
  /** Resolves when the output matches; rejects with the output when the program ends before that. */
  saying(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

export function startProgram(
  args: readonly string[],
  { home, cwd = home }: { readonly home: string; readonly cwd?: string },
): RunningProgram {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH, HOME, HEADROOM_HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return watched(child);
}

/** Watches a process whose output is piped. */
export function watched(child: ChildProcess): RunningProgram {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      output += text;
      child.emit("said");
    });
  }
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const saying = async (pattern: RegExp): Promise<RegExpExecArray> => {
    let isOver = false;
    void ended.then(() => {
      isOver = true;
      child.emit("said");
    });
    for (;;) {
      const found = pattern.exec(output);
      if (found !== null) return found;
      if (isOver) throw new Error(`it ended without saying ${String(pattern)}:\n${output}`);
      await once(child, "said");
    }
  };
  return { process: child, output: () => output, saying, ended };
}
