/** `headroom gateway`: the inference gateway in the foreground. It reloads its configuration when the file changes. */
import { once } from "node:events";
import { unwatchFile, watchFile, type Stats } from "node:fs";
import path from "node:path";
import type { GatewayConfig, RunningGateway } from "@headroom/gateway";
import { engineLines } from "./engine-lines.ts";
import { counted, keyFileOf, loadedConfig, problemLine, problemText, readText } from "./gateway-config.ts";
import { builtConsole } from "../up/checkout.ts";
import { settledText } from "./settled-text.ts";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

export interface GatewayOptions {
  readonly config?: string;
  readonly check?: boolean;
  readonly id?: string;
  readonly listen?: string;
  readonly admin?: string;
  readonly insecure?: boolean;
  readonly newKey?: boolean;
  readonly engines?: boolean;
  readonly json?: boolean;
}

/** Interval in ms at which the configuration file is polled. */
const WATCH_MS = 500;

export async function runGateway(context: CommandContext, options: GatewayOptions): Promise<ExitCode> {
  const api = await import("@headroom/gateway");
  const { newKey, presets, referenceProblems, startGateway } = api;
  if (options.engines === true) {
    context.print(...(options.json === true ? [JSON.stringify(presets, undefined, 2)] : engineLines(presets)));
    return exitCode.ok;
  }
  if (options.newKey === true) {
    const { key, sha256 } = newKey();
    context.print(`key:    ${key}`, `sha256: ${sha256}`);
    context.note("Give the key to the team, and put the hash into gateway.yaml. The key is not stored anywhere.");
    return exitCode.ok;
  }
  const name = options.config;
  if (name === undefined)
    throw new CliError("no configuration is given: headroom gateway --config gateway.yaml", exitCode.usage);
  const file = path.resolve(context.terminal.workingDirectory, name);
  const checked = (text: string): GatewayConfig => {
    const loaded = loadedConfig(api, text, { name, file, overrides: overridesOf(options) });
    const missing = referenceProblems(loaded);
    // A check often runs without the secrets of the service.
    const tolerated = options.check === true ? missing.filter((each) => each.isAboutEnvironment) : [];
    for (const each of tolerated) context.note(problemLine(name, each));
    if (missing.length > tolerated.length) {
      const problems = missing.filter((each) => !tolerated.includes(each));
      throw new CliError(problemText(name, problems), exitCode.usage);
    }
    return withPaths(loaded.config, context.terminal.workingDirectory);
  };
  const config = checked(await readText(file, name));
  const keysFile = keyFileOf(config, file);
  if (options.check === true) {
    for (const warning of api.checkAddresses(config)) context.note(`warning: ${warning}`);
    const counts = [
      counted(config.models.length, "model"),
      counted(config.pools.length, "pool"),
      counted(config.teams.length, "team"),
    ];
    context.print(`${name} is valid: ${counts.join(", ")}.`);
    return exitCode.ok;
  }
  const apply = async (): Promise<void> => gateway.apply(checked(await settledText(() => readText(file, name))));
  const keys = { file: keysFile, changed: apply };
  const consoleDirectory = builtConsole();
  const gateway = await startGateway(config, {
    log: (line) => context.note(line),
    keys,
    ...(consoleDirectory === undefined ? {} : { consoleDirectory }),
  });
  context.print(
    `Gateway ${config.id} listens on ${gateway.url}${gateway.adminUrl === undefined ? "" : `, admin on ${gateway.adminUrl}`}`,
  );
  const stopListening = onRotation(() => reopenLog(context, gateway));
  try {
    await untilInterrupted(context, [file, keysFile], (changed) =>
      reload(context, changed === file ? name : path.basename(keysFile), apply),
    );
  } finally {
    stopListening();
  }
  context.note("The gateway is stopping and waits for streams in progress.");
  await gateway.close();
  return exitCode.ok;
}

function overridesOf({ id, listen, admin, insecure }: GatewayOptions): Readonly<Record<string, string | boolean>> {
  return {
    ...(id === undefined ? {} : { id }),
    ...(listen === undefined ? {} : { listen }),
    ...(admin === undefined ? {} : { admin }),
    ...(insecure === true ? { insecure } : {}),
  };
}

function withPaths(config: GatewayConfig, workingDirectory: string): GatewayConfig {
  return { ...config, state: path.resolve(workingDirectory, config.state) };
}

async function reload(context: CommandContext, name: string, apply: () => Promise<void>): Promise<void> {
  try {
    await apply();
    context.note(`${name} was read again.`);
  } catch (error) {
    context.note(
      `${name} was not applied; the gateway continues with the earlier configuration: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/**
 * SIGUSR1 opens the access log again, as in nginx. SIGHUP cannot be used: a closed terminal sends it, and it ends the
 * process. Returns a function that ends this.
 */
function onRotation(rotated: () => void): () => void {
  process.on("SIGUSR1", rotated);
  return () => void process.off("SIGUSR1", rotated);
}

function reopenLog(context: CommandContext, gateway: RunningGateway): void {
  try {
    gateway.reopenLog();
    context.note("The access log was opened again.");
  } catch (error) {
    context.note(
      `The new access log cannot be opened, so the gateway continues in the old file: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Resolves when the gateway ends. Calls `changed` after each change of one of the files, one call after the other. */
async function untilInterrupted(
  context: CommandContext,
  files: readonly string[],
  changed: (file: string) => Promise<void>,
): Promise<void> {
  let last = Promise.resolve();
  const watches = files.map((file) => {
    const again = (now: Stats, before: Stats): void => {
      // The first look at a file that does not exist counts as a change.
      if (now.mtimeMs === 0 && before.mtimeMs === 0) return;
      last = last.then(() => changed(file));
    };
    watchFile(file, { interval: WATCH_MS }, again);
    return () => unwatchFile(file, again);
  });
  try {
    const { interrupted } = context.terminal;
    if (!interrupted.aborted) await once(interrupted, "abort");
  } finally {
    for (const end of watches) end();
  }
}
