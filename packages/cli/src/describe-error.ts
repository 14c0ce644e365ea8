/** Converts an error to its text and exit code. */
import type { ProblemError } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "./cli-error.ts";
import { printable } from "./terminal.ts";

/**
 * The class of the error is recognised by its name instead of `instanceof`, so that an early failure does not load the
 * protocol package.
 */
export function isProblemError(error: unknown): error is ProblemError {
  return error instanceof Error && error.name === "ProblemError" && "problem" in error;
}

const advice: Readonly<Record<string, string>> = {
  unauthorized:
    "The token comes from HEADROOM_TOKEN, or if HEADROOM_URL is not set, from the state directory (--home, HEADROOM_HOME).",
  unreachable: "Start it with `npm start` or `headroom up`, or choose another with HEADROOM_URL.",
};

export function describeError(error: unknown): { readonly message: string; readonly code: ExitCode } {
  if (error instanceof CliError) return { message: error.message, code: error.exitCode };
  if (isProblemError(error)) return { message: problemText(error), code: error.exitCode };
  const operational = error as { readonly code?: unknown; readonly message?: unknown };
  if (error instanceof Error && typeof operational.code === "string")
    return { message: error.message, code: exitCode.failed };
  return { message: error instanceof Error ? (error.stack ?? error.message) : String(error), code: exitCode.failed };
}

function problemText({ problem }: ProblemError): string {
  const lines = [printable(problem.detail)];
  // A problem of the whole document has no path; its detail is printed instead.
  for (const { pointer, message } of problem.errors ?? [])
    if (pointer !== "") lines.push(`  ${printable(pointer)}: ${printable(message)}`);
  const hint = advice[problem.code];
  if (hint !== undefined) lines.push(hint);
  return lines.join("\n");
}
