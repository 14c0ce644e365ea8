/**
 * Input and output of a command. They are passed in, so that tests run commands in their own process and read the
 * output.
 */
import type { Readable } from "node:stream";

export interface Sink {
  readonly isTerminal: boolean;
  /** Number of columns of the terminal; `undefined`: there is no terminal, and nothing is cut. */
  readonly columns: number | undefined;
  write(text: string | Uint8Array): void;
  /**
   * Resolves when the reader has caught up. Code with large output awaits it, so that the output does not pile up in
   * memory.
   */
  drained(): Promise<void>;
}

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** The terminal behind stdin and stdout, for commands that pass it on to another program. */
export interface Screen {
  size(): TerminalSize;
  /** Returns a function that ends the notification. */
  onResize(listener: () => void): () => void;
  /** True: keys come as they are typed, and no key is a signal of this program. */
  setRaw(isRaw: boolean): void;
}

export interface Terminal {
  /** Absent: stdin or stdout is no terminal. */
  readonly screen?: Screen | undefined;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  /** Name of the operating system's user that runs the program, or its number if it has no name. */
  userName(): string;
  /** Aborts when the user interrupts (Ctrl-C) or the system requests the end. */
  readonly interrupted: AbortSignal;
}

/** Removes control characters from text of other sources before a terminal interprets them. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what this removes.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, " ");
}
