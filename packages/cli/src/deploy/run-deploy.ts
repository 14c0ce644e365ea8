/** `headroom deploy`: writes the document of an endpoint, and applies it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { applyCommand } from "../commands/apply.ts";
import { deployDocument, type DeployOptions } from "./deploy-document.ts";

interface Choices extends DeployOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

export async function deploy(
  context: CommandContext,
  model: string,
  { dryRun, force, yes, json, ...choices }: Choices,
): Promise<ExitCode> {
  const { presets } = await import("@headroom/gateway");
  const { name, text, gateway } = deployDocument(presets, model, choices);
  if (dryRun === true) {
    context.terminal.stdout.write(text);
    return exitCode.ok;
  }
  const file = path.resolve(context.terminal.workingDirectory, `${name}.yaml`);
  if (existsSync(file) && readFileSync(file, "utf8") !== text && force !== true)
    throw new CliError(
      `${name}.yaml exists and says something else. Apply it (headroom apply -f ${name}.yaml), give --force to replace it, or another --name`,
      exitCode.usage,
    );
  writeFileSync(file, text);
  context.note(`Wrote ${name}.yaml.`);
  // The command says "serve this", also if the endpoint was stopped or has failed.
  const options = { file: [file], rerun: true, ...(yes === true ? { yes } : {}), ...(json === true ? { json } : {}) };
  const code = await applyCommand.run(context, { args: [], options, isAfterDashes: false });
  if (code !== exitCode.ok) return code;
  context.note("A gateway follows the endpoint with these lines in its file:");
  for (const line of gateway) context.note(`  ${line}`);
  return code;
}
