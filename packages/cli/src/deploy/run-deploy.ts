/** `headroom deploy`: writes the document of an endpoint, and applies it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { WorkloadSpec } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { applyCommand } from "../commands/apply.ts";
import { confirm } from "../output/confirm.ts";
import { printable } from "../terminal.ts";
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
  const ended = await endedAsDeclared(context, file);
  if (ended !== null) return startAgain(context, ended, yes === true);
  const options = { file: [file], ...(yes === true ? { yes } : {}), ...(json === true ? { json } : {}) };
  const code = await applyCommand.run(context, { args: [], options, isAfterDashes: false });
  if (code !== exitCode.ok) return code;
  context.note("A gateway follows the endpoint with these lines in its file:");
  for (const line of gateway) context.note(`  ${line}`);
  return code;
}

interface Ended {
  readonly spec: WorkloadSpec;
  readonly name: string;
  readonly phase: string;
}

/** The endpoint, if it has ended and its document is the same: `apply` finds nothing to do then. */
async function endedAsDeclared(context: CommandContext, file: string): Promise<Ended | null> {
  const { loadDocuments } = await import("../documents/load-documents.ts");
  const { requestOf } = await import("../documents/apply-request.ts");
  const request = requestOf(await loadDocuments([file], context.terminal));
  const client = await context.connect();
  const { changes } = await client.apply(request, { dryRun: true });
  const [spec] = request.workloads;
  const id = changes.find(({ kind, action }) => kind === "workload" && action === "unchanged")?.workloadId ?? null;
  if (spec === undefined || id === null) return null;
  const { name, phase, endedAtMs } = await client.getWorkload(id);
  return endedAtMs === null ? null : { spec, name, phase };
}

async function startAgain(context: CommandContext, { spec, name, phase }: Ended, isSure: boolean): Promise<ExitCode> {
  if (!isSure && !(await confirm(context.terminal, `${printable(name)} is ${phase}. Start it again?`))) {
    context.note("Nothing was changed.");
    return exitCode.failed;
  }
  const client = await context.connect();
  const { workloadId } = await client.submitWorkload(spec);
  context.note(`started again: ${printable(name)} (${workloadId})`);
  return exitCode.ok;
}
