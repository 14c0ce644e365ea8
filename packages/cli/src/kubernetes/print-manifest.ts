/** `headroom kubernetes manifest`: the objects with which a control plane runs in a cluster. */
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

export interface ManifestCommandOptions {
  readonly image?: string;
  readonly namespace?: string;
  readonly pods?: readonly string[];
  readonly storage?: string;
  readonly follow?: true;
  readonly exec?: true;
  readonly json?: true;
}

/** RFC 1123, as for namespaces. */
const NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const STORAGE = /^[1-9][0-9]*(?:Mi|Gi|Ti)$/;

export async function printManifest(context: CommandContext, options: ManifestCommandOptions): Promise<ExitCode> {
  const { image = "headroom", namespace = "headroom", pods = [], storage = "20Gi", follow, exec, json } = options;
  for (const name of [namespace, ...pods])
    if (!NAME.test(name))
      throw new CliError(
        `${name} is no namespace: at most 63 lower-case letters, digits and '-', with a letter or digit at both ends`,
        exitCode.usage,
      );
  if (!STORAGE.test(storage))
    throw new CliError(`--storage must be an amount such as 20Gi, not ${storage}`, exitCode.usage);
  const { clusterManifest } = await import("@headroom/executors/kubernetes-manifest");
  const podNamespaces = pods.length === 0 ? [namespace] : pods;
  const rights = { isReadOnly: follow === true, allowsExec: exec === true };
  const objects = clusterManifest({ namespace, podNamespaces, image, storage, ...rights });
  if (json === true) {
    context.print(JSON.stringify(objects, null, 2));
    return exitCode.ok;
  }
  const { stringify } = await import("yaml");
  context.print(objects.map((each) => stringify(each, { lineWidth: 0 }).trimEnd()).join("\n---\n"));
  return exitCode.ok;
}
