/** Finds out whether the words of `headroom run` start a batch script, a manifest, a program or a file that cannot run. */
import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import path from "node:path";
import type { LocalClock, SbatchReading } from "@headroom/spec/slurm";
import { CliError, exitCode } from "../cli-error.ts";
import { printable, type Terminal } from "../terminal.ts";
import { sourcesOf } from "../documents/sources.ts";
import { manifestIn, refuseUnused } from "./manifest-file.ts";

interface Words {
  readonly args: readonly string[];
  /** True: the words stood after `--`, so that they are a command in any case. */
  readonly isCommand: boolean;
}

export interface BatchScriptFile {
  readonly file: string;
  readonly reading: SbatchReading;
}

/** Options of `headroom run` that change how a batch script is read. */
interface ScriptOptions {
  readonly array?: string;
  /** A channel without occasions gets the messages of `--mail-type`. */
  readonly notify?: string;
  /** The options of the command, such as `--follow`. */
  readonly names: readonly string[];
}

/** The batch script that the first word names; `null`: the words are a command. */
export async function batchScriptIn(
  { args, isCommand }: Words,
  terminal: Terminal,
  { array, notify, names }: ScriptOptions,
): Promise<BatchScriptFile | null> {
  const [file = ""] = args;
  const place = path.resolve(terminal.workingDirectory, file);
  if (isCommand || file === "" || !(await isTextFile(place))) return null;
  const [source] = await sourcesOf(file, terminal);
  if (source === undefined) return null;
  const { hasDirectives, readSbatchScript } = await import("@headroom/spec/slurm");
  if (!hasDirectives(source.text)) {
    const manifest = await manifestIn(file, source.text);
    if (manifest !== null) refuseUnused(file, args.slice(1), array);
    return manifest;
  }
  const { catalogueName } = await import("@headroom/perf/accelerator-types");
  const reading = readSbatchScript({
    file,
    text: source.text,
    args: args.slice(1),
    // An option of the command line overrides a variable, as in Slurm.
    environment: array === undefined ? terminal.env : { ...terminal.env, SBATCH_ARRAY_INX: array },
    clock: localClock(),
    mailChannel: notify ?? (terminal.env["HEADROOM_MAIL_CHANNEL"] || undefined),
    isAcceleratorType: (name) => catalogueName(name) !== undefined,
  });
  const late = args.slice(1).filter((word) => names.includes(word.split("=")[0] ?? ""));
  const note = `${late.join(" ")} after the script: the script gets it as an argument. Options of headroom run stand before the script.`;
  return { file, reading: late.length === 0 ? reading : { ...reading, notes: [...reading.notes, note] } };
}

/**
 * The words of a command, with an interpreter in front of a script that lacks the executable bit or a directory. A file
 * that the shell could not run is refused here, because each of its attempts would fail in the same way.
 */
export async function runnableWords({ args, isCommand }: Words, terminal: Terminal): Promise<readonly string[]> {
  const [file = "", ...rest] = args;
  const isOneLine = args.length === 1 && /\s/.test(file);
  const place = path.resolve(terminal.workingDirectory, file);
  if (isOneLine || file === "" || (isCommand && !file.includes("/")) || !(await isTextFile(place))) return args;
  const isExecutable = await access(place, constants.X_OK).then(
    () => true,
    () => false,
  );
  const interpreter = interpreterOf(await firstBytes(place));
  if (isExecutable && (interpreter !== null || isCommand)) return file.includes("/") ? args : [`./${file}`, ...rest];
  if (!isCommand && interpreter !== null) return [...interpreter, file.includes("/") ? file : `./${file}`, ...rest];
  const shown = printable(file);
  const missing = interpreter === null ? "has no first line like #!/bin/bash" : "is not executable";
  throw new CliError(
    `${shown} ${missing}, so that no worker could run it. Write \`headroom run -- bash ${shown}\`` +
      (interpreter === null ? ", or add the line." : `, or run \`chmod +x ${shown}\` first.`),
    exitCode.usage,
  );
}

/** The program of the first line and its one argument; `null`: the line names no program. */
function interpreterOf(head: string): readonly string[] | null {
  const [, program, argument] = /^#![ \t]*(\S+)(?:[ \t]+([^\r\n]*?))?[ \t]*\r?(?:\n|$)/.exec(head) ?? [];
  if (program === undefined) return null;
  return argument === undefined || argument === "" ? [program] : [program, argument];
}

const HEAD_BYTES = 512;

async function firstBytes(place: string): Promise<string> {
  const handle = await open(place, "r");
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(HEAD_BYTES), position: 0 });
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whether the place is a readable file without the mark of a compiled program. */
async function isTextFile(place: string): Promise<boolean> {
  try {
    return (await stat(place)).isFile() && !(await firstBytes(place)).includes("\0");
  } catch {
    return false;
  }
}

function localClock(): LocalClock {
  return {
    nowMs: Date.now(),
    local: (instantMs) => {
      const at = new Date(instantMs);
      return {
        year: at.getFullYear(),
        month: at.getMonth() + 1,
        day: at.getDate(),
        hour: at.getHours(),
        minute: at.getMinutes(),
        second: at.getSeconds(),
      };
    },
    instant: ({ year, month, day, hour, minute, second }) =>
      new Date(year, month - 1, day, hour, minute, second).getTime(),
  };
}
