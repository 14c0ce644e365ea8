/** The terminal of this process. */
import type { Sink, Terminal } from "./terminal.ts";

/** The first signal asks to end, the second one insists. */
const INSISTED_EXIT_CODE = 130;

export function processTerminal(): Terminal {
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(INSISTED_EXIT_CODE);
      interrupted.abort(new Error(`interrupted by ${signal}`));
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    // Whoever read our output has gone (`headroom list | head`): nothing more is wanted.
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
  return {
    stdin: process.stdin,
    stdout: sinkOf(process.stdout),
    stderr: sinkOf(process.stderr),
    env: process.env,
    workingDirectory: process.cwd(),
    interrupted: interrupted.signal,
  };
}

function sinkOf(stream: NodeJS.WriteStream): Sink {
  return {
    get isTerminal() {
      return stream.isTTY;
    },
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    write: (text) => {
      stream.write(text);
    },
  };
}
