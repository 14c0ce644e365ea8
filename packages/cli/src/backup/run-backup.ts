/** `headroom backup`, `restore` and `upgrade`. */
import path from "node:path";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { version } from "../version.ts";
import { isArchive, pack, unpack, withFolder } from "./archive.ts";

export async function runBackup({ terminal, home, print }: CommandContext, target: string): Promise<ExitCode> {
  const { backUp } = await import("@headroom/server");
  const place = path.resolve(terminal.workingDirectory, target);
  const { journal, files } = isArchive(place)
    ? await withFolder(place, async (folder) => {
        const manifest = await backUp(home, folder, version());
        await pack(folder, place);
        return manifest;
      })
    : await backUp(home, place, version());
  print(`${place} has ${plural(Object.keys(files).length, "file")} of ${home}, up to event ${journal.sequence}.`);
  return exitCode.ok;
}

export interface RestoreCommandOptions {
  readonly force?: boolean;
}

export async function runRestore(
  { terminal, home, isHomeNamed, print }: CommandContext,
  source: string,
  { force }: RestoreCommandOptions,
): Promise<ExitCode> {
  if (!isHomeNamed) throw new CliError("name the state directory to restore into, with --home DIR", exitCode.usage);
  const { restore } = await import("@headroom/server");
  const place = path.resolve(terminal.workingDirectory, source);
  const put = (folder: string): ReturnType<typeof restore> =>
    restore({ source: folder, home, replaces: force === true });
  const { manifest, earlier } = isArchive(place)
    ? await withFolder(place, async (folder) => {
        await unpack(place, folder);
        return put(folder);
      })
    : put(place);
  print(
    `${home} has the state of ${manifest.createdAt}, up to event ${manifest.journal.sequence}. Every digest is right.`,
  );
  if (earlier !== null) print(`The earlier state is in ${earlier}.`);
  return exitCode.ok;
}

export async function runUpgrade({ home, print, note }: CommandContext): Promise<ExitCode> {
  const { upgrade } = await import("@headroom/server");
  const { backup, before, after, warnings } = await upgrade(home, version());
  for (const warning of warnings) note(`warning: ${warning}`);
  const format =
    before.format === after.format ? `format ${after.format}, unchanged` : `format ${before.format} to ${after.format}`;
  print(
    `${home} can be used by Headroom ${version()}: journal ${format}, up to event ${after.sequence}.`,
    `To go back: headroom --home ${home} restore ${backup} --force, then start the earlier version.`,
  );
  return exitCode.ok;
}
