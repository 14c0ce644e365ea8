/** Options for model and accelerator that training and serving share. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ModelChoice, NumberFormat } from "@headroom/perf";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

/** Name of a preset, or path of a config.json (it ends in `.json`). */
export async function modelChoice(context: CommandContext, given: string | undefined): Promise<ModelChoice> {
  const model = needed(given, "--model", "llama-3-8b");
  if (!model.endsWith(".json")) return model;
  const file = path.basename(model, ".json");
  const folder = path.basename(path.dirname(path.resolve(context.terminal.workingDirectory, model)));
  return { name: file === "config" ? folder : file, config: await jsonFile(context, model) };
}

/** A YAML or JSON file with more accelerators. */
export async function catalogueFile(context: CommandContext, file: string | undefined): Promise<unknown> {
  if (file === undefined) return undefined;
  const { parse } = await import("yaml");
  const text = await fileText(context, file);
  try {
    return parse(text);
  } catch (error) {
    throw new CliError(
      `${file} is not YAML: ${error instanceof Error ? error.message : String(error)}`,
      exitCode.usage,
    );
  }
}

export function needed(value: string | undefined, option: string, example: string): string {
  if (value !== undefined) return value;
  throw new CliError(`${option} is needed, for example ${option} ${example}`, exitCode.usage);
}

export async function jsonFile(context: CommandContext, file: string): Promise<unknown> {
  const text = await fileText(context, file);
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError(`${file} is not JSON`, exitCode.usage);
  }
}

async function fileText(context: CommandContext, file: string): Promise<string> {
  try {
    return await readFile(path.resolve(context.terminal.workingDirectory, file), "utf8");
  } catch {
    throw new CliError(`${file} cannot be read`, exitCode.usage);
  }
}

/** The named accelerator, or else the one that the profile was measured on. */
export async function acceleratorName(given: string | undefined, profile: unknown): Promise<string> {
  if (given !== undefined) return given;
  const perf = await import("@headroom/perf");
  const reading = perf.readProfile(profile);
  const found =
    reading.kind === "profile" ? perf.acceleratorOfDevice(reading.profile.deviceName, perf.accelerators) : undefined;
  return found?.name ?? needed(undefined, "--accelerator", "H100");
}

export async function numberFormat(text: string | undefined, option: string): Promise<NumberFormat> {
  const { numberFormats } = await import("@headroom/perf");
  const found = numberFormats.find((format) => format === (text ?? "bf16"));
  if (found !== undefined) return found;
  throw new CliError(`${option}: expected one of ${numberFormats.join(", ")}`, exitCode.usage);
}
