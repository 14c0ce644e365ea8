/** Longest part of a command that a sentence quotes. The event has the whole command. */
const QUOTED_MAX = 80;

/** The command that a user ran inside a worker, or "a shell". */
export function execText({ run, terminal }: { readonly run: string; readonly terminal: boolean }): string {
  if (run === "") return terminal ? "a shell" : "a shell without a terminal";
  return run.length <= QUOTED_MAX ? run : `${run.slice(0, QUOTED_MAX)}…`;
}
