/** `headroom artifact register`: a file or directory as the next version, with its digest and the header of a model. */
import { statSync } from "node:fs";
import path from "node:path";
import type { ArtifactKind, ArtifactRequestInput } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import { notationOf, pairsOf } from "./artifact-options.ts";
import type { Named, RegisterOptions } from "./artifact-options.ts";

export async function registerArtifact(
  context: CommandContext,
  { kind, name, path: file }: Named & { readonly path: string | null },
  options: RegisterOptions,
): Promise<ExitCode> {
  const { parseArtifactRef } = await import("@headroom/model");
  const ref = parseArtifactRef(notationOf({ kind, name }));
  if (ref === null || ref.at !== null)
    throw new CliError(
      `${printable(name)} is no name of an artifact. Write it without a version, like model:chat: the registry numbers versions.`,
      exitCode.usage,
    );
  const place = file === null ? null : path.resolve(context.terminal.workingDirectory, file);
  if (place === null && options.uri === undefined)
    throw new CliError("name a file or directory, or where the bytes are with --uri", exitCode.usage);
  const content = place === null ? { digest: null, bytes: null } : await contentOf(place, printable(file ?? ""));
  const uri = options.uri ?? place ?? "";
  const isRead = place !== null && options.uri === undefined;
  const request: ArtifactRequestInput = {
    kind: ref.kind,
    team: options.team ?? ref.team,
    name: ref.name,
    ...content,
    ...(options.rule === undefined ? {} : { rule: options.rule }),
    places: [{ store: options.store ?? "local", uri, state: isRead ? "verified" : "declared" }],
    inputs: [...(options.input ?? [])],
    ...metricsOf(options),
    ...(await parametersOf(ref.kind, place, options)),
    ...(options.alias === undefined ? {} : { aliases: [...options.alias] }),
    ...(options.reason === undefined ? {} : { reason: options.reason }),
  };
  const client = await context.connect();
  const registered = await client.registerArtifact(request);
  context.print(options.json === true ? JSON.stringify(registered, null, 2) : `${registered.ref} is registered`);
  return exitCode.ok;
}

async function contentOf(place: string, name: string): Promise<{ readonly digest: string; readonly bytes: number }> {
  const { OperationalError, contentDigest } = await import("@headroom/platform");
  try {
    const { digest, bytes } = await contentDigest(place);
    return { digest, bytes };
  } catch (error) {
    if (error instanceof OperationalError) throw new CliError(`${name}: ${printable(error.message)}`, exitCode.usage);
    throw error;
  }
}

function metricsOf({ metric }: RegisterOptions): Pick<ArtifactRequestInput, "metrics"> {
  if (metric === undefined) return {};
  const metrics = Object.entries(pairsOf("--metric", metric)).map(([name, text]) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value))
      throw new CliError(`--metric ${printable(name)} must be a number, got ${printable(text)}`, exitCode.usage);
    return [name, value] as const;
  });
  return { metrics: Object.fromEntries(metrics) };
}

const HEADER = /\.(?:safetensors|gguf|onnx)$/;

/** Parameters that the user states come before those of the header. */
async function parametersOf(
  kind: ArtifactKind,
  place: string | null,
  { param }: RegisterOptions,
): Promise<Pick<ArtifactRequestInput, "parameters">> {
  const stated = pairsOf("--param", param);
  const isModelFile = kind === "model" && place !== null && HEADER.test(place) && statSync(place).isFile();
  const read = isModelFile ? await headerOf(place) : {};
  const parameters = { ...read, ...stated };
  return Object.keys(parameters).length === 0 ? {} : { parameters };
}

async function headerOf(place: string): Promise<Readonly<Record<string, string>>> {
  const { readModel } = await import("../model-files/run-model-inspect.ts");
  const { model, stated, precision } = await readModel(place, printable(place));
  return {
    format: model.format,
    parameters: String(model.parameters),
    precision: precision.map(({ type }) => type).join(", "),
    ...(stated.architecture === null ? {} : { architecture: stated.architecture }),
    ...(stated.contextLength === null ? {} : { context_length: String(stated.contextLength) }),
  };
}
