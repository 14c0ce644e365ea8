/** An error that ends a command. It has an exit code and a sentence that says what to do. */

/** Exit codes. Scripts rely on them; docs/reference/cli.md documents them. */
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
