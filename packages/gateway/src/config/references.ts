/**
 * Certificates, keys and folders that gateway.yaml refers to. `loadConfig` reads only the text of gateway.yaml. This
 * module reads the files, so that a wrong path is also reported with line and column.
 */
import { accessSync, constants, readFileSync } from "node:fs";
import path from "node:path";
import { readTlsFiles } from "@headroom/platform";
import type { ConfigProblem, Path } from "./load.ts";
import type { GatewayConfig } from "./schema.ts";
import { coordinatorSecretOf, headerValueOf, secretOf } from "./secrets.ts";

interface Checked {
  readonly config: GatewayConfig;
  problemAt(path: Path, message: string): ConfigProblem;
}

export interface ReferenceProblem extends ConfigProblem {
  /** Whether an environment variable is missing. Such a configuration may be correct in another environment. */
  readonly isAboutEnvironment: boolean;
}

export function referenceProblems({ config, problemAt }: Checked): readonly ReferenceProblem[] {
  const found: ReferenceProblem[] = [];
  const check = (at: Path, run: () => unknown, isAboutEnvironment = false): void => {
    try {
      run();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      found.push({ ...problemAt(at, `cannot be used: ${message}`), isAboutEnvironment });
    }
  };
  const { tls, accessLog, coordinatorSecret, adminToken } = config;
  if (tls !== undefined) {
    const before = found.length;
    check(["tls", "certificate"], () => readFileSync(tls.certificate));
    check(["tls", "key"], () => readFileSync(tls.key));
    if (found.length === before) check(["tls"], () => readTlsFiles(tls));
  }
  if (coordinatorSecret !== undefined)
    check(["coordinatorSecret"], () => coordinatorSecretOf(coordinatorSecret), "env" in coordinatorSecret);
  if (adminToken !== undefined) check(["adminToken"], () => secretOf(adminToken), "env" in adminToken);
  for (const [name, value] of Object.entries(config.tracing?.headers ?? {})) {
    if (typeof value !== "string") check(["tracing", "headers", name], () => headerValueOf(value), "env" in value);
  }
  for (const [at, { key, wake }] of config.pools.entries()) {
    if (key !== undefined) check(["pools", at, "key"], () => secretOf(key), "env" in key);
    for (const [index, name] of (wake?.env ?? []).entries())
      check(["pools", at, "wake", "env", index], () => requireVariable(name), true);
  }
  if (accessLog !== undefined && accessLog.file !== "-") {
    const folder = path.dirname(path.resolve(accessLog.file));
    check(["accessLog", "file"], () => accessSync(folder, constants.W_OK));
  }
  return found;
}

function requireVariable(name: string): void {
  if (process.env[name] === undefined) throw new Error(`the environment variable ${name} is not set`);
}
