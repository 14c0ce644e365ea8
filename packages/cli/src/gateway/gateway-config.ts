/** Reads gateway.yaml with the keys beside it, for every command that needs a gateway's configuration. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ConfigProblem, GatewayConfig, LoadedConfig } from "@headroom/gateway";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

/** The functions of the gateway's package, which commands import when they run. */
export type GatewayPackage = typeof import("@headroom/gateway");

export interface ConfigSource {
  /** The file as the user wrote it, and its path. */
  readonly name: string;
  readonly file: string;
  readonly overrides?: Readonly<Record<string, string | boolean>>;
  /** Whether a configuration without any key is accepted, because the command creates one. */
  readonly mayLackKeys?: boolean;
}

/** The checked configuration, with stored keys. Throws a `CliError` with the place of each problem. */
export function loadedConfig(
  { loadConfig, readKeyFile, withStoredKeys }: GatewayPackage,
  text: string,
  { name, file, overrides, mayLackKeys = false }: ConfigSource,
): Extract<LoadedConfig, { readonly config: GatewayConfig }> {
  const hasStored = (config: GatewayConfig): boolean => mayLackKeys || readKeyFile(keyFileOf(config, file)).length > 0;
  const loaded = loadConfig(text, overrides, hasStored);
  if ("problems" in loaded) throw new CliError(problemText(name, loaded.problems), exitCode.usage);
  const config = withStoredKeys(loaded.config, readKeyFile(keyFileOf(loaded.config, file)));
  return { ...loaded, config };
}

/** Reads the configuration that `--config` names. */
export async function configNamed(
  { terminal }: CommandContext,
  name: string,
  options: Pick<ConfigSource, "mayLackKeys"> = {},
): Promise<{ readonly config: GatewayConfig; readonly keysFile: string }> {
  const file = path.resolve(terminal.workingDirectory, name);
  const text = await readText(file, name);
  const { config } = loadedConfig(await import("@headroom/gateway"), text, { name, file, ...options });
  const state = path.resolve(terminal.workingDirectory, config.state);
  return { config: { ...config, state }, keysFile: keyFileOf(config, file) };
}

/** `gateway.keys.json` beside `gateway.yaml`. Relative paths start at its folder. */
export function keyFileOf({ keysFile }: Pick<GatewayConfig, "keysFile">, file: string): string {
  const { dir, name } = path.parse(file);
  return path.resolve(dir, keysFile ?? `${name}.keys.json`);
}

export async function readText(file: string, name: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CliError(
      `${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      exitCode.usage,
    );
  }
}

export function problemText(name: string, problems: readonly ConfigProblem[]): string {
  return [counted(problems.length, "problem"), ...problems.map((each) => problemLine(name, each))].join("\n");
}

export function problemLine(name: string, { line, column, message }: ConfigProblem): string {
  return `${name}:${line}:${column}: ${message}`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
