/** Runs the CLI in the test's own process and records its output. */
import { Readable } from "node:stream";
import { runCli } from "../program.ts";
import type { Sink, Terminal } from "../terminal.ts";

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly workingDirectory: string;
  /** Name of the operating system's user. */
  readonly userName?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Width of the terminal. If it is set, stdout and stderr act as a terminal. */
  readonly columns?: number;
  readonly interrupted?: AbortSignal;
}

export async function headroom(
  args: readonly string[],
  { workingDirectory, userName = "tester", env, stdin, columns, interrupted }: Surroundings,
): Promise<Said> {
  const said = { stdout: "", stderr: "" };
  const sink = (stream: "stdout" | "stderr"): Sink => ({
    isTerminal: columns !== undefined,
    columns,
    write: (text) => {
      said[stream] += typeof text === "string" ? text : Buffer.from(text).toString("utf8");
    },
    drained: () => Promise.resolve(),
  });
  const terminal: Terminal = {
    stdin: Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]),
    stdout: sink("stdout"),
    stderr: sink("stderr"),
    env: env ?? {},
    workingDirectory,
    userName: () => userName,
    interrupted: interrupted ?? new AbortController().signal,
  };
  return { code: await runCli(args, terminal), ...said };
}
