/** Settings of declarations on the command line. */
import { CliError, exitCode } from "../cli-error.ts";

type Settings = Readonly<Record<string, unknown>>;

/** Reads `name=value`. A value that is JSON is read as JSON, and any other is text. */
export function settingsOf(assignments: readonly string[]): Settings {
  return Object.fromEntries(
    assignments.map((assignment) => {
      const at = assignment.indexOf("=");
      if (at < 1) throw new CliError(`--setting: expected name=value, got ${assignment}`, exitCode.usage);
      return [assignment.slice(0, at), valueOf(assignment.slice(at + 1))];
    }),
  );
}

function valueOf(text: string): unknown {
  if (!/^(?:true|false|-?\d|\[|\{|")/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
