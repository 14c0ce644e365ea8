/** Asks for confirmation before a change. */
import { createInterface } from "node:readline/promises";
import { CliError, exitCode } from "../cli-error.ts";
import type { Terminal } from "../terminal.ts";

/** Without a terminal, --yes is required. */
export async function confirm({ stdin, stderr, interrupted }: Terminal, question: string): Promise<boolean> {
  if (stdin.isTTY !== true || !stderr.isTerminal) {
    throw new CliError(
      "nothing was changed: there is no terminal for the question. Pass --yes to apply the changes, or --dry-run to only show them",
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
