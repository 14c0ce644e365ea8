/** `headroom artifact alias | tag | hold | delete | restore | retain`: changes of a version or a name. */
import type { ArtifactChangeRequestInput, ArtifactGateRequestInput, HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import { keyOf, notationOf, pairsOf } from "./artifact-options.ts";
import type { AliasOptions, ArtifactChangeOptions, GateOptions, Named } from "./artifact-options.ts";

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
  if (options.propose === true) return proposeMove(context, { client, text, alias }, options);
  if (options.remove === true) {
    const said = `${artifact}@${alias} is removed`;
    return send(context, client, { artifact, change: { kind: "alias", alias, number: null }, said }, options);
  }
  const version = await client.getArtifactVersion(text);
  const { number, ref } = version;
  const said = `${artifact}@${alias} points to ${ref}`;
  return send(context, client, { artifact: keyOf(version), change: { kind: "alias", alias, number }, said }, options);
}

interface ProposedAlias {
  readonly client: HeadroomClient;
  readonly text: string;
  readonly alias: string;
}

async function proposeMove(
  context: CommandContext,
  { client, text, alias }: ProposedAlias,
  { reason, remove, json }: AliasOptions,
): Promise<ExitCode> {
  if (reason === undefined)
    throw new CliError("state why: --reason TEXT. It is shown to the user who decides.", exitCode.usage);
  const version = await client.getArtifactVersion(text);
  const number = remove === true ? null : version.number;
  const change = { kind: "alias", artifact: keyOf(version), alias, number } as const;
  const proposal = await client.createProposal({ change, reason });
  context.print(json === true ? JSON.stringify(proposal, null, 2) : printable(proposal.sentence));
  return exitCode.ok;
}

const gateOperators = { "<=": "le", ">=": "ge", "<": "lt", ">": "gt" } as const;

/** `loss<=1.7`; `score>current` compares with the version to which the alias points. */
function gateTestOf(text: string): NonNullable<ArtifactGateRequestInput["gate"]["test"]> {
  const [, metric, sign, value] = /^([^<>=]+)(<=|>=|<|>)([^<>=]+)$/.exec(text.replaceAll(" ", "")) ?? [];
  const limit = value === "current" ? null : Number(value);
  if (metric === undefined || sign === undefined || Number.isNaN(limit))
    throw new CliError(`--metric must be like loss<=1.7 or score>current, got ${printable(text)}`, exitCode.usage);
  return { metric, operator: gateOperators[sign as keyof typeof gateOperators], value: limit };
}

export async function setGate(
  context: CommandContext,
  { kind, name, alias }: Named & { readonly alias: string },
  { metric, approval, remove, reason, json }: GateOptions,
): Promise<ExitCode> {
  if ((remove === true) === (metric !== undefined || approval === true))
    throw new CliError("state the gate: --metric TEST, --approval or both; or --remove", exitCode.usage);
  const artifact = notationOf({ kind, name });
  const gate = {
    ...(metric === undefined ? {} : { test: gateTestOf(metric) }),
    ...(approval === true ? { approval: true as const } : {}),
  };
  const client = await context.connect();
  const changed = await client.setArtifactGate(artifact, alias, { gate, ...(reason === undefined ? {} : { reason }) });
  const { gateText } = await import("@headroom/views/text");
  const said = remove === true ? "has no gate" : `has a gate: ${gateText(gate)}`;
  context.print(json === true ? JSON.stringify(changed, null, 2) : printable(`${artifact}@${alias} ${said}`));
  return exitCode.ok;
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
