import { defineCommand } from "../command.ts";
import type { RestoreCommandOptions } from "../backup/run-backup.ts";

export const backupCommand = defineCommand({
  name: "backup",
  summary: "Write a backup of the state directory, also while the control plane runs",
  details: `Examples:
  headroom backup /backup/headroom-2026-11-28.tar.gz
  headroom --home /var/lib/headroom backup /backup/headroom
A name that ends in .tar, .tar.gz or .tgz is one file, another name is a folder. The backup has the journal, the token, settings, telemetry and the records and logs of attempts. It does not have the data of the work (work/, checkpoints/).`,
  arguments: [{ syntax: "<target>", description: "new file or folder", complete: "file" }],
  async run(context, { args }) {
    const { runBackup } = await import("../backup/run-backup.ts");
    return runBackup(context, args[0] ?? "");
  },
});

export const restoreCommand = defineCommand<RestoreCommandOptions>({
  name: "restore",
  summary: "Put a backup into a state directory, after every digest was checked",
  details: `Example:
  headroom --home /var/lib/headroom restore /backup/headroom-2026-11-28.tar.gz
A directory with a state is refused. With --force its state is moved aside, into before-restore-… below it.`,
  arguments: [{ syntax: "<source>", description: "file or folder that `headroom backup` wrote", complete: "file" }],
  options: [{ flags: "--force", description: "move the present state aside" }],
  async run(context, { args, options }) {
    const { runRestore } = await import("../backup/run-backup.ts");
    return runRestore(context, args[0] ?? "", options);
  },
});

export const upgradeCommand = defineCommand({
  name: "upgrade",
  summary: "Take a state directory over to this version, with a backup as the way back",
  details:
    "Run it with the new version, while no control plane uses the directory. Work that runs continues. It writes a backup into\n" +
    "backups/ of the directory, opens the journal, which checks it and migrates its format, and prints the command that goes back.",
  async run(context) {
    const { runUpgrade } = await import("../backup/run-backup.ts");
    return runUpgrade(context);
  },
});
