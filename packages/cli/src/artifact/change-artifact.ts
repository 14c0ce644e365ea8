/** `headroom artifact alias | tag | hold | delete | restore | retain`: changes of a version or a name. */
import type { ArtifactChangeRequestInput, HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import { keyOf, notationOf, pairsOf } from "./artifact-options.ts";
import type { AliasOptions, ArtifactChangeOptions, Named } from "./artifact-options.ts";

type VersionChange = ArtifactChangeRequestInput["change"];

interface ChangeToSend {
  readonly artifact: string;
  readonly change: VersionChange;
  readonly said: string;
}

async function send(
  context: CommandContext,
  client: HeadroomClient,
  { artifact, change, said }: ChangeToSend,
  { reason, json }: ArtifactChangeOptions,
): Promise<ExitCode> {
  const changed = await client.changeArtifact(artifact, { change, ...(reason === undefined ? {} : { reason }) });
  context.print(json === true ? JSON.stringify(changed, null, 2) : said);
  return exitCode.ok;
}

export async function moveAlias(
  context: CommandContext,
  { kind, name, alias }: Named & { readonly alias: string },
  options: AliasOptions,
): Promise<ExitCode> {
  const text = notationOf({ kind, name });
  const [artifact = text] = text.split("@");
  const client = await context.connect();
  if (options.remove === true) {
    const said = `${artifact}@${alias} is removed`;
    return send(context, client, { artifact, change: { kind: "alias", alias, number: null }, said }, options);
  }
  const version = await client.getArtifactVersion(text);
  const { number, ref } = version;
  const said = `${artifact}@${alias} points to ${ref}`;
  return send(context, client, { artifact: keyOf(version), change: { kind: "alias", alias, number }, said }, options);
}

export async function setTags(
  context: CommandContext,
  { kind, name, tags }: Named & { readonly tags: readonly string[] },
  options: ArtifactChangeOptions,
): Promise<ExitCode> {
  const pairs = pairsOf("a tag", tags);
  const values = Object.fromEntries(Object.entries(pairs).map(([key, value]) => [key, value === "" ? null : value]));
  const client = await context.connect();
  const version = await client.getArtifactVersion(notationOf({ kind, name }));
  const change = { kind: "tags", number: version.number, tags: values } as const;
  return send(context, client, { artifact: keyOf(version), change, said: `${version.ref} is tagged` }, options);
}

const verbs = {
  hold: "is on legal hold",
  release: "is released from legal hold",
  delete: "is deleted",
  restore: "is restored",
} as const;

export async function changeVersion(
  context: CommandContext,
  { kind, name, change }: Named & { readonly change: keyof typeof verbs },
  options: ArtifactChangeOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const version = await client.getArtifactVersion(notationOf({ kind, name }));
  const { number, ref } = version;
  const said = `${ref} ${verbs[change]}`;
  return send(context, client, { artifact: keyOf(version), change: { kind: change, number }, said }, options);
}

export async function retainVersions(
  context: CommandContext,
  { kind, name, count }: Named & { readonly count: string },
  options: ArtifactChangeOptions,
): Promise<ExitCode> {
  const artifact = notationOf({ kind, name });
  if (count !== "all" && !/^[1-9][0-9]{0,4}$/.test(count))
    throw new CliError(`the number of versions must be from 1 on, or all, got ${printable(count)}`, exitCode.usage);
  const keepVersions = count === "all" ? null : Number(count);
  const said = `${artifact} keeps ${count === "all" ? "every version" : `${count} versions`}`;
  const client = await context.connect();
  return send(context, client, { artifact, change: { kind: "retention", keepVersions }, said }, options);
}
