/** An error that ends a command. It has an exit code and a sentence that says what to do. */

/** Exit codes. Scripts rely on them; docs/reference/cli.md documents them. */
export const exitCode = { ok: 0, failed: 1, usage: 2, unsatisfied: 3, interrupted: 130 } as const;
/** The exit code of a command that `headroom exec` ran elsewhere. */
type CommandExitCode = number & { readonly isOfCommand: true };
export type ExitCode = (typeof exitCode)[keyof typeof exitCode] | CommandExitCode;

export const exitCodeOfCommand = (code: number): ExitCode => code as CommandExitCode;

export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;

  constructor(message: string, code: ExitCode = exitCode.failed) {
    super(message);
    this.exitCode = code;
  }
}
