/**
 * The text of files that users name: files, directories of YAML and stdin. The size is limited, and the content must be
 * text.
 */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { addAbortSignal } from "node:stream";
import { CliError, exitCode } from "../cli-error.ts";
import type { Terminal } from "../terminal.ts";

/** Maximum size of a file in bytes, enough for thousands of workloads. The API accepts larger generated sets. */
const FILE_BYTES_MAX = 1_048_576;
const FILES_MAX = 1_000;

export interface Source {
  /** Name of the file in messages: `train.yaml`, or `stdin`. */
  readonly file: string;
  /** Directory against which relative paths in the file are resolved. */
  readonly directory: string;
  readonly text: string;
}

/** `target`: a file, a directory (its YAML files, without subdirectories) or `-` for stdin. */
export async function sourcesOf(target: string, terminal: Terminal): Promise<Source[]> {
  if (target === "-") return [await stdinSource(terminal)];
  const place = path.resolve(terminal.workingDirectory, target);
  const found = await stat(place).catch((error: unknown) => {
    throw cannotRead(target, error);
  });
  if (!found.isDirectory()) return [await fileSource(target, place)];
  const names = (await readdir(place)).filter((name) => /\.(?:ya?ml|json)$/.test(name)).toSorted();
  if (names.length === 0)
    throw new CliError(`the directory ${target} has no .yaml, .yml or .json files`, exitCode.usage);
  if (names.length > FILES_MAX) throw new CliError(`${target} has more than ${FILES_MAX} files`, exitCode.usage);
  return Promise.all(names.map((name) => fileSource(path.join(target, name), path.join(place, name))));
}

async function fileSource(file: string, place: string): Promise<Source> {
  try {
    // Reads one byte more than allowed. This detects input that is too large, for files, pipes and devices alike.
    const bytes = await bounded(createReadStream(place, { end: FILE_BYTES_MAX }), file);
    return { file, directory: path.dirname(place), text: textOf(file, bytes) };
  } catch (error) {
    throw error instanceof CliError ? error : cannotRead(file, error);
  }
}

async function stdinSource({ stdin, workingDirectory, interrupted }: Terminal): Promise<Source> {
  addAbortSignal(interrupted, stdin);
  return { file: "stdin", directory: workingDirectory, text: textOf("stdin", await bounded(stdin, "stdin")) };
}

async function bounded(stream: AsyncIterable<unknown>, file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > FILE_BYTES_MAX) {
      throw new CliError(`${file} is too large: the limit is ${FILE_BYTES_MAX} bytes`, exitCode.usage);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CliError(`${file} is not UTF-8 text`, exitCode.usage);
  }
}

function cannotRead(file: string, error: unknown): CliError {
  const code = (error as NodeJS.ErrnoException).code;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file",
    EACCES: "you have no permission to read it",
    EISDIR: "it is a directory",
  };
  return new CliError(`cannot read ${file}: ${reasons[code ?? ""] ?? String(error)}`, exitCode.usage);
}
