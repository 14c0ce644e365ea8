/** `headroom model inspect`: what the header of a model file states. */
import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import path from "node:path";
import type { ByteSource, ModelDescription, TypeTotal } from "@headroom/model-files";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface ModelInspectOptions {
  readonly json?: true;
}

/** A configuration of transformers beside the weights has some kilobytes. */
const CONFIG_BYTES_MAX = 1 << 20;

export async function runModelInspect(
  { terminal, print, paint }: CommandContext,
  file: string,
  options: ModelInspectOptions,
): Promise<ExitCode> {
  const { model, stated, precision } = await readModel(path.resolve(terminal.workingDirectory, file), printable(file));
  if (options.json === true) print(JSON.stringify({ file, ...answerOf(model, stated, precision) }, null, 2));
  else print(...linesOf(model, stated), ...tableLines(columns, precision.map(rowOf), terminal.stdout, paint));
  return exitCode.ok;
}

interface ReadModel {
  readonly model: ModelDescription;
  readonly stated: Stated;
  readonly precision: readonly TypeTotal[];
}

/** The header of a model file. `name`: the file in messages. */
export async function readModel(place: string, name: string): Promise<ReadModel> {
  const { readModelFile, ModelFileError, totalsByType } = await import("@headroom/model-files");
  let model: ModelDescription;
  const descriptor = opened(place, name);
  try {
    model = readModelFile(sourceOf(descriptor), path.basename(place));
  } catch (error) {
    if (error instanceof ModelFileError) throw new CliError(`${name}: ${printable(error.message)}`);
    throw error;
  } finally {
    closeSync(descriptor);
  }
  const config = model.format === "safetensors" ? configBeside(place) : null;
  const precision = totalsByType(model.tensors);
  const stated = {
    architecture: model.architecture ?? config?.architecture ?? null,
    name: model.name,
    contextLength: model.contextLength ?? config?.contextLength ?? null,
  };
  return { model, stated, precision };
}

interface Stated {
  readonly architecture: string | null;
  readonly name: string | null;
  readonly contextLength: number | null;
}

function answerOf(model: ModelDescription, stated: Stated, precision: readonly TypeTotal[]): object {
  const isSized = precision.every(({ bytes }) => bytes !== null);
  return {
    format: model.format,
    bytes: model.bytes,
    architecture: stated.architecture,
    name: stated.name,
    context_length: stated.contextLength,
    parameters: model.parameters,
    data_bytes: isSized ? precision.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) : null,
    tensor_count: model.tensors.length,
    precision,
    external_files: model.externalFiles,
    metadata: model.metadata,
    tensors: model.tensors,
  };
}

const columns = [
  { title: "TYPE" },
  { title: "TENSORS", align: "right" as const },
  { title: "PARAMETERS", align: "right" as const },
  { title: "BYTES", align: "right" as const },
];

const rowOf = ({ type, tensors, parameters, bytes }: TypeTotal): readonly string[] => [
  type,
  String(tensors),
  String(parameters),
  bytes === null ? "–" : String(bytes),
];

function linesOf(model: ModelDescription, { name, architecture, contextLength }: Stated): readonly string[] {
  const shown = (value: string | number | null): string => printable(value === null ? "not stated" : String(value));
  return [
    `format          ${model.format}`,
    `name            ${shown(name)}`,
    `architecture    ${shown(architecture)}`,
    `context length  ${shown(contextLength)}`,
    `parameters      ${countText(model.parameters)}`,
    `tensors         ${model.tensors.length}`,
    `file            ${model.bytes} bytes`,
    ...(model.externalFiles.length > 0 ? [`data in         ${printable(model.externalFiles.join(", "))}`] : []),
    "",
  ];
}

function opened(place: string, name: string): number {
  try {
    // Opening a pipe would wait for its writer.
    if (!statSync(place).isFile()) throw new CliError(`${name}: expected a regular file`, exitCode.usage);
    return openSync(place, "r");
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code } = error as { readonly code?: string };
    const why = code === "ENOENT" ? "there is no such file" : `cannot be read (${code ?? "unknown error"})`;
    throw new CliError(`${name}: ${why}`, exitCode.usage);
  }
}

function sourceOf(descriptor: number): ByteSource {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return {
    size: fstatSync(descriptor).size,
    bytes: (offset, length) => {
      const bytes = Buffer.alloc(length);
      let count = 0;
      while (count < length) {
        const read = readSync(descriptor, bytes, count, length - count, offset + count);
        if (read === 0) throw new CliError("the file became shorter while it was read");
        count += read;
      }
      return bytes;
    },
    text: (bytes) => {
      try {
        return utf8.decode(bytes);
      } catch {
        return null;
      }
    },
  };
}

interface ModelConfig {
  readonly architecture: string | null;
  readonly contextLength: number | null;
}

/** safetensors files have neither architecture nor context length: `config.json` of transformers beside them has. */
function configBeside(place: string): ModelConfig | null {
  const file = path.join(path.dirname(place), "config.json");
  try {
    const stats = statSync(file);
    if (!stats.isFile() || stats.size > CONFIG_BYTES_MAX) return null;
    const config = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>> | null;
    const [architecture] = Array.isArray(config?.["architectures"]) ? (config["architectures"] as unknown[]) : [];
    const contextLength = config?.["max_position_embeddings"];
    return {
      architecture: typeof architecture === "string" ? architecture : null,
      contextLength: typeof contextLength === "number" ? contextLength : null,
    };
  } catch {
    return null;
  }
}

function countText(count: number): string {
  for (const [unit, size] of [
    ["T", 1e12],
    ["B", 1e9],
    ["M", 1e6],
  ] as const)
    if (count >= size) return `${count} (${(count / size).toFixed(2)} ${unit})`;
  return String(count);
}
