/** An error that ends a command: a sentence that says what to do, and the exit code. */

/** Exit codes, documented in docs/reference/cli.md; scripts rely on them. */
export const exitCode = { ok: 0, failed: 1, usage: 2, unsatisfied: 3, interrupted: 130 } as const;
export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;

  constructor(message: string, code: ExitCode = exitCode.failed) {
    super(message);
    this.exitCode = code;
  }
}
