/** Backups as one file: a folder that `tar` packs and unpacks. */
import { spawn } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { CliError, exitCode } from "../cli-error.ts";

/** Whether the name means one file. Other names are folders. */
export const isArchive = (target: string): boolean => /\.(?:tar|tar\.gz|tgz)$/.test(target);

/** Calls `use` with a folder beside `place`, so that large backups need no space elsewhere, and removes it. */
export async function withFolder<Result>(place: string, use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(path.join(path.dirname(place), ".headroom-backup-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Packs a folder into a file that appears only when it is complete. */
export async function pack(folder: string, file: string): Promise<void> {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new CliError(`${file} exists already: name a new file for the backup`, exitCode.usage);
  const draft = `${file}.partial`;
  try {
    await tar(["--create", ...compressed(file), "--file", draft, "--directory", folder, "."]);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** GNU tar and bsdtar refuse members that lead out of the folder. The digests are checked afterwards. */
export async function unpack(file: string, folder: string): Promise<void> {
  await tar(["--extract", ...compressed(file), "--no-same-owner", "--file", file, "--directory", folder]);
}

const compressed = (file: string): readonly string[] => (file.endsWith(".tar") ? [] : ["--gzip"]);

function tar(args: readonly string[]): Promise<void> {
  const child = spawn("tar", args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(0, 2_000);
  });
  return new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new CliError(`tar cannot be started: ${error.message}. Name a folder instead.`)),
    );
    child.once("close", (code) => {
      if (code === 0) resolve();
      else reject(new CliError(`tar ended with exit code ${String(code)}: ${said.trim()}`));
    });
  });
}
