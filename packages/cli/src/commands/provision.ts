import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand } from "../command.ts";
import type { ProvisionSlurmOptions } from "../provision/run-provision-slurm.ts";

const slurmCommand = defineCommand<ProvisionSlurmOptions>({
  name: "slurm",
  summary: "Start and stop cloud nodes of a Slurm cluster for orders of the engine",
  details: `A provisioner (docs/reference/provisioners.md): the control plane runs it with one of the verbs create, state and release, and with the
order as JSON on its standard input. Nodes with State=CLOUD are powered up and down through scontrol; Slurm runs its ResumeProgram
and SuspendProgram. The comment of a node names its order. docs/how-to/burst-to-rented-capacity.md has the configuration.

Examples:
  command: [headroom, provision, slurm, --executor, lab, --partition, cloud, --directory, /var/lib/headroom-slurm]
  echo '{"verb":"state","order":{"id":"x","count":1,"accelerators":8}}' | headroom provision slurm --executor lab --partition cloud \\
    --directory /tmp/try state`,
  arguments: [{ syntax: "<verb>", description: "create, state or release", complete: ["create", "state", "release"] }],
  options: [
    {
      flags: "--executor <name>",
      description: "executor of the pool, with whose name ids of its nodes begin (required)",
    },
    { flags: "--partition <name>", description: "partition of the cloud nodes (required)" },
    { flags: "--nodes <list>", description: "cloud nodes to use, such as cloud[1-8] (default: all of the partition)" },
    {
      flags: "--directory <directory>",
      description: "directory for the lock and the ids of released orders (required)",
    },
    { flags: "--commands <directory>", description: "directory of Slurm's commands (default: those on the PATH)" },
    { flags: "--configuration <file>", description: "slurm.conf of the cluster (default: that of this machine)" },
  ],
  async run(context, { args, options }) {
    const { runProvisionSlurm } = await import("../provision/run-provision-slurm.ts");
    return runProvisionSlurm(context, args[0] ?? "", options);
  },
});

export const provisionCommand = defineCommand({
  name: "provision",
  summary: "Start and stop machines for orders of the engine",
  commands: [slurmCommand],
  run() {
    return Promise.reject(new CliError("provision needs a command: headroom provision slurm", exitCode.usage));
  },
});
