/** `headroom model push` and `pull`: versions as ModelPack artifacts of OCI registries. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ArtifactKind, ArtifactVersion, HeadroomClient } from "@headroom/protocol";
import type { OciReference, RegistryClient } from "@headroom/stores";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { bytesText } from "../size/quantities.ts";
import { ProgressLine } from "../simulate/progress-line.ts";
import { printable } from "../terminal.ts";
import { keyOf, notationOf } from "./artifact-options.ts";

export interface RegistryOptions {
  readonly username?: string;
  readonly password?: string;
  readonly plainHttp?: boolean;
  readonly json?: boolean;
}
export interface PushOptions extends RegistryOptions {
  readonly from?: string;
}
export interface PullOptions extends RegistryOptions {
  readonly register?: string;
  readonly team?: string;
}

interface PushRequest {
  readonly kind: ArtifactKind | null;
  readonly reference: string;
  readonly name: string;
}

export async function pushArtifact(
  context: CommandContext,
  { kind, reference: text, name }: PushRequest,
  options: PushOptions,
): Promise<ExitCode> {
  const { ociUri, pushModel } = await import("@headroom/stores");
  const reference = await referenceOf(text);
  if (reference.at.startsWith("sha256:"))
    throw new CliError(
      "push to a tag, like registry.example/chat:3: the digest follows from the bytes",
      exitCode.usage,
    );
  const registry = await registryOf(context, reference, options);
  const client = await context.connect();
  const version = await client.getArtifactVersion(notationOf({ kind, name }));
  await refuseRule(client, version, ociUri(reference));
  const progress = new ProgressLine(context.terminal.stderr);
  const model = {
    at: localCopy(context, version, options.from),
    version: version.id,
    digest: version.digest,
    parameters: version.parameters ?? {},
  };
  const pushed = await said(() =>
    pushModel(registry, reference, model, {
      signal: context.terminal.interrupted,
      onProgress: (each) => progress.show(`${each.name}: ${bytesText(each.bytes)} of ${bytesText(each.totalBytes)}`),
    }),
  );
  progress.clear();
  const uri = ociUri({ ...reference, at: pushed.digest });
  await addPlace(client, version, uri);
  if (options.json === true) context.print(JSON.stringify({ ...pushed, uri }, null, 2));
  else
    context.print(
      `${version.ref} is at ${uri}`,
      `${pushed.files} files, ${bytesText(pushed.bytes)}, of which ${bytesText(pushed.sentBytes)} were sent`,
    );
  return exitCode.ok;
}

/** Bytes with a data rule go only to a declared store that admits the rule. Checked before any byte is sent. */
async function refuseRule(client: HeadroomClient, version: ArtifactVersion, uri: string): Promise<void> {
  const { ref, places } = version;
  const { items } = await client.stores();
  const around = (at: string) =>
    items
      .filter(({ place }) => at.startsWith(place))
      .toSorted((left, right) => right.place.length - left.place.length)[0];
  const rulesOf = (at: string): readonly string[] => {
    const rules = around(at)?.settings["rules"];
    return Array.isArray(rules) ? rules.filter((each) => typeof each === "string") : [];
  };
  // Bytes without a rule of their own have those of their store.
  const needed = version.rule === undefined ? places.flatMap((each) => rulesOf(each.uri)) : [version.rule];
  const admitted = rulesOf(uri);
  const rule = needed.find((each) => !admitted.includes(each));
  if (rule === undefined) return;
  const store = around(uri);
  const lacks = store === undefined ? "is no declared store" : `is the store ${store.name}, which does not admit it`;
  throw new CliError(
    `${printable(ref)} has the data rule ${printable(rule)}, and the registry ${lacks}. Push to a registry that is declared with the rule (headroom store add oci … --setting 'rules=["${printable(rule)}"]').`,
    exitCode.failed,
  );
}

/** The bytes are verified: they had the digest of the version when they were read, and the registry compared each blob. */
async function addPlace(client: HeadroomClient, version: ArtifactVersion, uri: string): Promise<void> {
  const place = { store: "oci", uri, state: version.digest === null ? "declared" : "verified" } as const;
  const change = { kind: "place", number: version.number, place } as const;
  await client.changeArtifact(keyOf(version), { change, reason: "pushed to a registry" });
}

function localCopy(context: CommandContext, { ref, places }: ArtifactVersion, from: string | undefined): string {
  if (from !== undefined) return path.resolve(context.terminal.workingDirectory, from);
  const here = places.map(({ uri }) => uri).find((uri) => path.isAbsolute(uri) && existsSync(uri));
  if (here !== undefined) return here;
  throw new CliError(
    `No place of ${printable(ref)} is a path on this machine. Name a copy of its bytes with --from PATH.`,
    exitCode.usage,
  );
}

export async function pullArtifact(
  context: CommandContext,
  {
    kind,
    reference: text,
    to,
  }: { readonly kind: ArtifactKind | null; readonly reference: string; readonly to: string },
  options: PullOptions,
): Promise<ExitCode> {
  const { ociUri, pullModel } = await import("@headroom/stores");
  const reference = await referenceOf(text);
  const registry = await registryOf(context, reference, options);
  const target = path.resolve(context.terminal.workingDirectory, to);
  const progress = new ProgressLine(context.terminal.stderr);
  const pulled = await said(() =>
    pullModel(registry, reference, target, {
      signal: context.terminal.interrupted,
      onProgress: (each) => progress.show(`${bytesText(each.bytes)} of ${bytesText(each.totalBytes)}`),
    }),
  );
  progress.clear();
  const uri = ociUri({ ...reference, at: pulled.manifestDigest });
  const registered =
    options.register === undefined ? null : await register(context, { kind, pulled, target, uri }, options);
  if (options.json === true) context.print(JSON.stringify({ ...pulled, uri, registered }, null, 2));
  else
    context.print(
      `${printable(to)} has ${pulled.files} files, ${bytesText(pulled.bytes)}, of ${uri}`,
      `digest ${pulled.digest}${pulled.version === null ? "" : `, pushed as ${printable(pulled.version)}`}`,
      ...(registered === null ? [] : [`${registered} is registered`]),
    );
  return exitCode.ok;
}

interface ToRegister {
  readonly kind: ArtifactKind | null;
  readonly pulled: { readonly digest: string; readonly bytes: number };
  readonly target: string;
  readonly uri: string;
}

async function register(
  context: CommandContext,
  { kind, pulled: { digest, bytes }, target, uri }: ToRegister,
  { register: name = "", team }: PullOptions,
): Promise<string> {
  const { parseArtifactRef } = await import("@headroom/model");
  const ref = parseArtifactRef(notationOf({ kind, name }));
  if (ref === null || ref.at !== null)
    throw new CliError(
      `--register must be a name without a version, like chat, got ${printable(name)}`,
      exitCode.usage,
    );
  const client = await context.connect();
  const places = [target, uri].map((each) => ({
    store: each === uri ? "oci" : "local",
    uri: each,
    state: "verified" as const,
  }));
  const request = { kind: ref.kind, team: team ?? ref.team, name: ref.name, digest, bytes, places, inputs: [] };
  return (await client.registerArtifact(request)).ref;
}

async function referenceOf(text: string): Promise<OciReference> {
  const { parseOciReference } = await import("@headroom/stores");
  const reference = parseOciReference(text);
  if (reference !== null) return reference;
  throw new CliError(
    `${printable(text)} names no artifact of a registry. Write registry.example/team/chat:3, or with a digest: registry.example/team/chat@sha256:…`,
    exitCode.usage,
  );
}

/** Without --plain-http only a registry on this machine is used over HTTP. */
async function registryOf(
  context: CommandContext,
  { registry }: OciReference,
  { username, password, plainHttp }: RegistryOptions,
): Promise<RegistryClient> {
  if ((username === undefined) !== (password === undefined))
    throw new CliError("--username and --password belong together", exitCode.usage);
  const secret = password === undefined ? null : await secretOf(password, context.terminal.workingDirectory);
  const { RegistryClient: Client } = await import("@headroom/stores");
  const isHere = /^(?:localhost|127\.[0-9.]+|\[::1\])(?::|$)/.test(registry);
  const credentials = secret === null ? null : () => ({ username: username ?? "", password: secret });
  return said(async () => new Client({ registry, plainHttp: plainHttp === true || isHere, credentials }));
}

/** A reference to the password, since other users of the machine can read arguments of processes. */
async function secretOf(reference: string, workingDirectory: string): Promise<string> {
  const [, kind, place = ""] = /^(env|file):(.+)$/s.exec(reference) ?? [];
  if (kind === undefined)
    throw new CliError(
      "--password must be a reference: env:NAME or file:PATH, never the password itself",
      exitCode.usage,
    );
  const secret = kind === "env" ? process.env[place] : await fileText(path.resolve(workingDirectory, place));
  if (secret !== undefined && secret !== "") return secret;
  throw new CliError(`The password ${printable(reference)} is empty or not there.`, exitCode.usage);
}

const fileText = async (file: string): Promise<string> => (await readFile(file, "utf8").catch(() => "")).trim();

/** Problems of registries and files as messages of the command. */
async function said<Result>(act: () => Promise<Result>): Promise<Result> {
  const { OperationalError } = await import("@headroom/platform");
  try {
    return await act();
  } catch (error) {
    if (error instanceof OperationalError) throw new CliError(printable(error.message));
    throw error;
  }
}
