/**
 * Errors in the user's input: files and options that a tool cannot use. They end the tool with exit code 2 and a
 * message of one line.
 */
import { closeSync, openSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";

/** An error in the user's input. The message is one sentence that states what to change. */
export class InputError extends Error {}

/** Runs a tool. If the tool throws an `InputError`, its message is printed without a stack trace. */
export function withInputErrors(main: () => void): void {
  try {
    main();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of the path is a file, not a folder",
  EISDIR: "it is a folder, not a file",
  EACCES: "permission denied",
  EROFS: "the file system is read-only",
};

/** An `InputError` for a file operation that failed, with the cause of the failure. */
export function fileError(error: unknown, file: string, advice: string): InputError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return new InputError(`${file}: ${reasons[code] ?? (code || String(error))}; ${advice}`);
}

/** Checks that an output file can be written, before the long work whose result it gets. Creates an empty file. */
export function checkWritable(file: string): void {
  try {
    closeSync(openSync(file, "a"));
  } catch (error) {
    throw fileError(error, file, "--rows needs a file that can be written");
  }
}

/** Parses the arguments of the process. Throws an `InputError` with the usage on an unknown option. */
export function argumentsOf<Config extends ParseArgsConfig>(
  config: Config,
  usage: string,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new InputError(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}
