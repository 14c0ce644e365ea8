/** The terminal of this process. */
import { once } from "node:events";
import { userInfo } from "node:os";
import type { Screen, Sink, Terminal, TerminalSize } from "./terminal.ts";

/** Exit code of a forced end. The first signal requests a clean end, the second forces the end. */
const INSISTED_EXIT_CODE = 130;
/**
 * Time in ms within which two signals count as one. A Ctrl-C can arrive twice: the terminal signals the whole process
 * group, and a parent can forward the signal.
 */
const SAME_SIGNAL_MS = 500;

export function processTerminal(): Terminal {
  const interrupted = new AbortController();
  let interruptedAtMs = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) {
        if (performance.now() - interruptedAtMs > SAME_SIGNAL_MS) process.exit(INSISTED_EXIT_CODE);
        return;
      }
      interruptedAtMs = performance.now();
      interrupted.abort(new Error(`interrupted by ${signal}`));
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    // The program that reads the output has closed it (`headroom list | head`), so the command ends.
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
  return {
    screen: process.stdin.isTTY && process.stdout.isTTY ? screenOf(process.stdin, process.stdout) : undefined,
    stdin: process.stdin,
    stdout: sinkOf(process.stdout),
    stderr: sinkOf(process.stderr),
    env: process.env,
    workingDirectory: process.cwd(),
    userName: systemUser,
    interrupted: interrupted.signal,
  };
}

/** In a container the user id can lack a name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "");
  }
}

/** Terminals of build systems and containers often state no size, or a size of 0 × 0. Then that of a VT100 applies. */
export function sizeOf({ rows, columns }: { readonly rows?: number; readonly columns?: number }): TerminalSize {
  return { rows: rows || 24, columns: columns || 80 };
}

function screenOf(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Screen {
  return {
    size: () => sizeOf(output),
    onResize: (listener) => {
      output.on("resize", listener);
      return () => void output.off("resize", listener);
    },
    setRaw: (isRaw) => void input.setRawMode(isRaw),
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
    drained: async () => {
      if (stream.writableNeedDrain) await once(stream, "drain");
    },
  };
}
