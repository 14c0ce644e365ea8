import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { CommandDefinition } from "../command.ts";
import { limitOption } from "../listing-options.ts";
import { registryCommands } from "./registry-commands.ts";
import type {
  AliasOptions,
  ArtifactListOptions,
  ArtifactChangeOptions,
  GateOptions,
  HoldOptions,
  RegisterOptions,
  ArtifactShowOptions,
} from "../artifact/artifact-options.ts";

type Kind = "model" | "dataset";

const reasonOption = { flags: "--reason <text>", description: "reason, which is recorded (default: none)" };

/** The name of an artifact in help texts. Within `headroom model` the kind may be left out. */
const exampleOf = (kind: Kind | null): string => (kind === null ? "model:chat" : "chat");

const versionArgument = (kind: Kind | null) => ({
  syntax: "<version>",
  description: `${exampleOf(kind)}@3, an alias like ${exampleOf(kind)}@production, or ${exampleOf(kind)} for the newest`,
});

/** The commands of `headroom artifact`, or those of `headroom model` and `headroom dataset`, limited to the kind. */
export function artifactCommands(kind: Kind | null): readonly CommandDefinition[] {
  return [...readingCommands(kind), ...changingCommands(kind), ...registryCommands(kind)];
}

function readingCommands(kind: Kind | null): readonly CommandDefinition[] {
  const name = exampleOf(kind);
  const list = defineCommand<ArtifactListOptions>({
    name: "list",
    summary: "List artifacts with their newest versions and aliases, or the versions of one",
    arguments: [{ syntax: "[name]", description: `an artifact, like ${name}: its versions are listed` }],
    options: [
      ...(kind === null
        ? [{ flags: "--kind <kind>", description: "only dataset, checkpoint, model, image or report (default: all)" }]
        : []),
      { flags: "--team <team>", description: "only artifacts of this team (default: all)", complete: "team" as const },
      { flags: "--search <text>", description: "only names that contain this text (default: all)" },
      { flags: "--deleted", description: "with a name: also deleted versions that can be restored" },
      { flags: "--csv", description: "print comma-separated values" },
      limitOption,
      jsonOption,
    ],
    async run(context, { args, options }) {
      const { listArtifacts } = await import("../artifact/list-artifacts.ts");
      return listArtifacts(context, { kind, name: args[0] ?? null }, options);
    },
  });
  const show = defineCommand<ArtifactShowOptions>({
    name: "show",
    summary: "Show a version: digest, places, producer, inputs, aliases with their moves",
    arguments: [versionArgument(kind)],
    options: [jsonOption],
    async run(context, { args, options }) {
      const { showArtifact } = await import("../artifact/show-artifact.ts");
      return showArtifact(context, { kind, name: args[0] ?? "" }, options);
    },
  });
  const compare = defineCommand<ArtifactShowOptions>({
    name: "compare",
    summary: "Compare two versions: bytes, metrics, parameters, inputs",
    arguments: [
      { syntax: "<first>", description: `a version, like ${name}@2` },
      { syntax: "<second>", description: `a version, like ${name}@3` },
    ],
    options: [jsonOption],
    async run(context, { args, options }) {
      const { compareArtifacts } = await import("../artifact/show-artifact.ts");
      return compareArtifacts(context, { kind, names: [args[0] ?? "", args[1] ?? ""] }, options);
    },
  });
  return [list, show, compare];
}

function registerCommand(kind: Kind | null): CommandDefinition {
  const name = exampleOf(kind);
  return defineCommand<RegisterOptions>({
    name: "register",
    summary: "Register a file or directory as the next version of an artifact",
    details: `The digest is computed here. Parameters, precision and context length of a model come from its header (safetensors, GGUF, ONNX).
The bytes stay where they are.

Examples:
  headroom ${kind ?? "artifact"} register ${name} ./file --metric accuracy=0.91 --alias candidate
  headroom ${kind ?? "artifact"} register ${name} --uri s3://bucket/key --input dataset:text@2`,
    arguments: [
      { syntax: "<name>", description: `name of the artifact, like ${name}` },
      { syntax: "[path]", description: "file or directory", complete: "file" },
    ],
    options: [
      { flags: "--team <team>", description: "team that owns it (default: default)", complete: "team" },
      { flags: "--uri <uri>", description: "where the bytes are (default: the path)" },
      { flags: "--store <store>", description: "name of the store (default: local)" },
      { flags: "--rule <rule>", description: "rule of the data (default: none)" },
      {
        flags: "--input <version>",
        description: "a version or data set it was made from (default: none)",
        repeatable: true,
      },
      { flags: "--metric <name=value>", description: "a metric, like loss=1.6 (default: none)", repeatable: true },
      { flags: "--param <name=value>", description: "a parameter (default: from the header)", repeatable: true },
      {
        flags: "--alias <alias>",
        description: "alias that points to the new version (default: none)",
        repeatable: true,
      },
      reasonOption,
      jsonOption,
    ],
    async run(context, { args, options }) {
      const { registerArtifact } = await import("../artifact/register-artifact.ts");
      return registerArtifact(context, { kind, name: args[0] ?? "", path: args[1] ?? null }, options);
    },
  });
}

function changingCommands(kind: Kind | null): readonly CommandDefinition[] {
  const alias = defineCommand<AliasOptions>({
    name: "alias",
    summary: "Point an alias to a version, or remove it; every move is recorded",
    arguments: [versionArgument(kind), { syntax: "<alias>", description: "the alias, like production" }],
    options: [
      { flags: "--remove", description: "remove the alias" },
      { flags: "--propose", description: "propose the move to another user, as a gate with approval requires" },
      reasonOption,
      jsonOption,
    ],
    async run(context, { args, options }) {
      const { moveAlias } = await import("../artifact/change-artifact.ts");
      return moveAlias(context, { kind, name: args[0] ?? "", alias: args[1] ?? "" }, options);
    },
  });
  const tag = defineCommand<ArtifactChangeOptions>({
    name: "tag",
    summary: "Set or remove tags of a version",
    arguments: [versionArgument(kind), { syntax: "<tags...>", description: "NAME=VALUE sets a tag, NAME= removes it" }],
    options: [reasonOption, jsonOption],
    async run(context, { args: [name = "", ...tags], options }) {
      const { setTags } = await import("../artifact/change-artifact.ts");
      return setTags(context, { kind, name, tags }, options);
    },
  });
  const hold = defineCommand<HoldOptions>({
    name: "hold",
    summary: "Put a version on legal hold, so that nobody deletes it, or release it",
    arguments: [versionArgument(kind)],
    options: [{ flags: "--release", description: "end the hold" }, reasonOption, jsonOption],
    async run(context, { args, options }) {
      const { changeVersion } = await import("../artifact/change-artifact.ts");
      const change = options.release === true ? "release" : "hold";
      return changeVersion(context, { kind, name: args[0] ?? "", change }, options);
    },
  });
  return [registerCommand(kind), alias, gateCommand(kind), tag, hold, ...endingCommands(kind)];
}

function gateCommand(kind: Kind | null): CommandDefinition {
  const name = exampleOf(kind);
  return defineCommand<GateOptions>({
    name: "gate",
    summary: "Set the gate of an alias: a metric that a version must have, and approval by another user",
    details: `A gate holds for users, for registrations with --alias and for pipelines. Operators of the team set it.

Examples:
  headroom ${kind ?? "artifact"} gate ${name} production --metric "loss<=1.7" --approval
  headroom ${kind ?? "artifact"} gate ${name} production --metric "score>current"
  headroom ${kind ?? "artifact"} alias ${name}@7 production --propose --reason "better on all languages"`,
    arguments: [
      { syntax: "<name>", description: `an artifact, like ${name}` },
      { syntax: "<alias>", description: "the alias, like production" },
    ],
    options: [
      {
        flags: "--metric <test>",
        description: "test of a metric; current: that of the version to which the alias points (default: none)",
      },
      { flags: "--approval", description: "another user must approve each move" },
      { flags: "--remove", description: "remove the gate" },
      reasonOption,
      jsonOption,
    ],
    async run(context, { args, options }) {
      const { setGate } = await import("../artifact/change-artifact.ts");
      return setGate(context, { kind, name: args[0] ?? "", alias: args[1] ?? "" }, options);
    },
  });
}

function endingCommands(kind: Kind | null): readonly CommandDefinition[] {
  const remove = defineCommand<ArtifactChangeOptions>({
    name: "delete",
    summary: "Delete a version that nothing depends on; its bytes stay in their stores",
    arguments: [versionArgument(kind)],
    options: [reasonOption, jsonOption],
    async run(context, { args, options }) {
      const { changeVersion } = await import("../artifact/change-artifact.ts");
      return changeVersion(context, { kind, name: args[0] ?? "", change: "delete" }, options);
    },
  });
  const restore = defineCommand<ArtifactChangeOptions>({
    name: "restore",
    summary: "Restore a deleted version by its number",
    arguments: [{ syntax: "<version>", description: `a deleted version, like ${exampleOf(kind)}@3` }],
    options: [reasonOption, jsonOption],
    async run(context, { args, options }) {
      const { changeVersion } = await import("../artifact/change-artifact.ts");
      return changeVersion(context, { kind, name: args[0] ?? "", change: "restore" }, options);
    },
  });
  const retain = defineCommand<ArtifactChangeOptions>({
    name: "retain",
    summary: "Keep a number of versions; older ones that nothing depends on are deleted with the next registration",
    arguments: [
      { syntax: "<name>", description: `an artifact, like ${exampleOf(kind)}` },
      { syntax: "<count>", description: "number of versions, or all" },
    ],
    options: [reasonOption, jsonOption],
    async run(context, { args, options }) {
      const { retainVersions } = await import("../artifact/change-artifact.ts");
      return retainVersions(context, { kind, name: args[0] ?? "", count: args[1] ?? "" }, options);
    },
  });
  return [remove, restore, retain];
}

const needsCommand = (name: string) => () =>
  Promise.reject(new CliError(`${name} needs a command: headroom ${name} list`, exitCode.usage));

export const artifactCommand = defineCommand({
  name: "artifact",
  summary: "Datasets, checkpoints, models, images and reports: versions, aliases, lineage, deletion",
  commands: artifactCommands(null),
  run: needsCommand("artifact"),
});

export const datasetCommand = defineCommand({
  name: "dataset",
  summary: "Datasets of the registry: the commands of headroom artifact for this kind",
  commands: artifactCommands("dataset"),
  run: needsCommand("dataset"),
});
