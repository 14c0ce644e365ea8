/** Where a command reads and writes. Handed in, so that tests run commands in their own process and read what they said. */
import type { Readable } from "node:stream";

export interface Sink {
  readonly isTerminal: boolean;
  /** Columns of the terminal; `undefined` where there is none and nothing is cut. */
  readonly columns: number | undefined;
  write(text: string): void;
  /** Resolves when the reader has caught up: whoever writes much waits for it, or all of it lies in memory. */
  drained(): Promise<void>;
}

export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  /** Who runs the program, as the operating system knows them: by name, else by number. */
  userName(): string;
  /** Aborts when the user interrupts (Ctrl-C) or the system asks the program to end. */
  readonly interrupted: AbortSignal;
}

/** What comes from elsewhere, fit to be shown: control characters would be obeyed by the terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what this removes.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, " ");
}
