/** Asks before something is changed. */
import { createInterface } from "node:readline/promises";
import { CliError, exitCode } from "../cli-error.ts";
import type { Terminal } from "../terminal.ts";

/** Where nobody can answer, the caller has to have said --yes. */
export async function confirm({ stdin, stderr, interrupted }: Terminal, question: string): Promise<boolean> {
  if (stdin.isTTY !== true || !stderr.isTerminal) {
    throw new CliError(
      "nothing was changed: there is no terminal to ask on; say --yes to apply this, --dry-run to only look",
      exitCode.usage,
    );
  }
  stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: stdin });
  try {
    const answer = await lines.question("", { signal: interrupted });
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
