import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export const repositoryRoot: string = path.resolve(import.meta.dirname, "../..");

/** Every regular file of the work tree that git tracks or would add, relative to the root, in a fixed order. */
export function repositoryFiles(): readonly string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const listed = execFileSync("git", args, { cwd: repositoryRoot, encoding: "utf8", maxBuffer: 64 << 20 });
  const isFile = (file: string): boolean =>
    lstatSync(path.join(repositoryRoot, file), { throwIfNoEntry: false })?.isFile() === true;
  return [...new Set(listed.split("\0"))].filter(isFile).toSorted();
}

/** Creates a temporary copy of the work tree, so that violations can be planted without affecting it. */
export interface RepositoryCopy extends Disposable {
  readonly root: string;
  plant(file: string, content: string): void;
}

export function copyRepository(): RepositoryCopy {
  const root = mkdtempSync(path.join(tmpdir(), "headroom-copy-"));
  for (const file of repositoryFiles()) {
    cpSync(path.join(repositoryRoot, file), path.join(root, file), { recursive: true });
  }
  linkModules(root);
  // Parts of the check list files with git, so the copy is a git repository.
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  return {
    root,
    plant: (file, content) => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      writeFileSync(path.join(root, file), content);
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/**
 * Creates the work tree that a new user has after `git clone` and installation, in a directory that does not exist yet.
 * Files are copied; modules are hard links if the file system allows them.
 */
export function cloneInstalled(root: string): void {
  for (const file of repositoryFiles()) cpSync(path.join(repositoryRoot, file), path.join(root, file));
  const modules = path.join(repositoryRoot, "node_modules");
  const copied = path.join(root, "node_modules");
  const linked = spawnSync("cp", ["--archive", "--link", modules, copied], { stdio: "ignore" });
  if (linked.status === 0) return;
  rmSync(copied, { recursive: true, force: true });
  execFileSync("cp", ["--archive", modules, copied]);
}

/** Third-party modules are shared with the work tree; links of workspace packages must lead into the copy. */
export function linkModules(root: string): void {
  const modules = path.join(repositoryRoot, "node_modules");
  const copied = path.join(root, "node_modules");
  mkdirSync(path.join(copied, "@headroom"), { recursive: true });
  for (const name of readdirSync(modules)) {
    if (name !== "@headroom" && name !== ".vite") symlinkSync(path.join(modules, name), path.join(copied, name));
  }
  for (const name of readdirSync(path.join(modules, "@headroom"))) {
    symlinkSync(path.join(root, "packages", name), path.join(copied, "@headroom", name));
  }
}
