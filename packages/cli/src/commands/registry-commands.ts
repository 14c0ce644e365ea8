/** `push` and `pull` of artifacts: versions as ModelPack artifacts of OCI registries. */
import { defineCommand, jsonOption } from "../command.ts";
import type { CommandDefinition } from "../command.ts";
import type { PullOptions, PushOptions } from "../artifact/registry-transfer.ts";

const referenceArgument = {
  syntax: "<reference>",
  description: "artifact of an OCI registry, like registry.example/team/chat:3",
};

const accessOptions = [
  { flags: "--username <name>", description: "user of the registry (default: anonymous)" },
  { flags: "--password <reference>", description: "reference to the password: env:NAME or file:PATH (default: none)" },
  { flags: "--plain-http", description: "HTTP in place of HTTPS; without it only for registries on this machine" },
];

export function registryCommands(kind: "model" | "dataset" | null): readonly CommandDefinition[] {
  const group = kind ?? "artifact";
  const name = kind === null ? "model:chat" : "chat";
  const push = defineCommand<PushOptions>({
    name: "push",
    summary: "Push a version to an OCI registry as a ModelPack artifact",
    details: `Each file is a layer of its own, so registries keep equal files once, and files that are there are not sent again. The bytes are compared with
the digest of the version first. A cut upload goes on where the registry says. The version gets the place oci://…@sha256:….

Examples:
  headroom ${group} push registry.example/team/chat:3 ${name}@3
  headroom ${group} push localhost:5000/chat:3 ${name}@production --from ./chat`,
    arguments: [referenceArgument, { syntax: "<version>", description: `version to push, like ${name}@3` }],
    options: [
      {
        flags: "--from <path>",
        description: "file or directory with the bytes (default: a place on this machine)",
        complete: "file" as const,
      },
      ...accessOptions,
      jsonOption,
    ],
    async run(context, { args, options }) {
      const { pushArtifact } = await import("../artifact/registry-transfer.ts");
      return pushArtifact(context, { kind, reference: args[0] ?? "", name: args[1] ?? "" }, options);
    },
  });
  const pull = defineCommand<PullOptions>({
    name: "pull",
    summary: "Pull an artifact of an OCI registry to a file or directory",
    details: `All bytes are compared with their digests before anything lies at the path. A cut transfer goes on with the missing parts when the command is repeated.
Artifacts of other tools are read if their layers are single files (ModelPack with raw layers, ORAS).

Examples:
  headroom ${group} pull registry.example/team/chat:3 ./chat
  headroom ${group} pull registry.example/team/chat:3 ./chat --register ${name}`,
    arguments: [
      referenceArgument,
      { syntax: "<path>", description: "where the bytes are put; it must not exist", complete: "file" },
    ],
    options: [
      {
        flags: "--register <name>",
        description: `also register it as the next version of this name, like ${name} (default: none)`,
      },
      {
        flags: "--team <team>",
        description: "with --register: team that owns it (default: default)",
        complete: "team",
      },
      ...accessOptions,
      jsonOption,
    ],
    async run(context, { args, options }) {
      const { pullArtifact } = await import("../artifact/registry-transfer.ts");
      return pullArtifact(context, { kind, reference: args[0] ?? "", to: args[1] ?? "" }, options);
    },
  });
  return [push, pull];
}
