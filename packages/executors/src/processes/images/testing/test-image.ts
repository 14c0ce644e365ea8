/** A small container image made of programs of this machine, for tests. It is in podman's own store until `removeTestImage`. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { findProgram } from "../../isolation/bubblewrap.ts";

const PROGRAMS = [
  ..."sh sleep cat echo mkdir touch ls env kill head tail dd seq printf tr grep sed stat id mv ln cp rm chmod test".split(
    " ",
  ),
  ..."timeout setsid sync date wc pwd true false tee cut sort uniq basename dirname mktemp mkfifo nproc readlink".split(
    " ",
  ),
  ..."bash ps mount umount unshare nohup truncate mknod".split(" "),
];
const SEARCH_PATH = "/usr/bin:/bin:/usr/sbin:/sbin";

/** Why no image can be made here; `null`: it can. */
export function whyNoImages(): string | null {
  for (const program of ["podman", "tar", "ldd"])
    if (findProgram(program, SEARCH_PATH) === null) return `${program} is not installed`;
  return null;
}

export function makeTestImage(name: string): void {
  const root = mkdtempSync(path.join(tmpdir(), "headroom-image-"));
  try {
    for (const directory of ["bin", "etc", "usr"]) mkdirSync(path.join(root, directory));
    writeFileSync(path.join(root, "etc/image-name"), `${name}\n`);
    mkdirSync(path.join(root, "opt/dev"), { recursive: true });
    writeFileSync(path.join(root, "opt/dev/kept"), "kept\n");
    writeFileSync(path.join(root, "etc/passwd"), "root:x:0:0:root:/:/bin/sh\n");
    for (const program of PROGRAMS) addProgram(root, program);
    const archive = path.join(root, "../", `${path.basename(root)}.tar`);
    execFileSync("tar", ["--create", "--file", archive, "--directory", root, "."]);
    execFileSync("podman", ["import", "--change", "ENV IN_IMAGE=yes", "--change", "ENV PATH=/bin", archive, name], {
      stdio: "ignore",
    });
    rmSync(archive);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export function removeTestImage(name: string): void {
  execFileSync("podman", ["image", "rm", "--force", name], { stdio: "ignore" });
}

function addProgram(root: string, program: string): void {
  const found = findProgram(program, SEARCH_PATH);
  if (found === null) return;
  copyFileSync(realpathSync(found), path.join(root, "bin", program));
  const libraries = execFileSync("sh", ["-c", 'ldd "$1" 2>/dev/null || true', "ldd", found], { encoding: "utf8" });
  for (const [library] of libraries.matchAll(/\/\S+\.so\S*/g)) {
    const to = path.join(root, library);
    if (existsSync(to)) continue;
    mkdirSync(path.dirname(to), { recursive: true });
    copyFileSync(library, to);
  }
}
