/** Input and output of a command. Passed in, so that tests run commands in their own process and read the output. */
import type { Readable } from "node:stream";

export interface Sink {
  readonly isTerminal: boolean;
  /** Columns of the terminal; `undefined` without a terminal: nothing is cut. */
  readonly columns: number | undefined;
  write(text: string): void;
  /** Resolves when the reader has caught up. Large output awaits it, so that it does not pile up in memory. */
  drained(): Promise<void>;
}

export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  /** Operating system user that runs the program: name, else number. */
  userName(): string;
  /** Aborts when the user interrupts (Ctrl-C) or the system requests the end. */
  readonly interrupted: AbortSignal;
}

/** Removes control characters from text of other sources before a terminal interprets them. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what this removes.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, " ");
}
