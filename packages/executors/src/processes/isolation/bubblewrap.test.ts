/** A job of a sandbox that was not started by root makes no user namespaces of its own. */
import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { bubblewrapArgs, findBubblewrap } from "./bubblewrap.ts";

const NOBODY = 65_534;
const program = findBubblewrap(process.env["PATH"] ?? "/usr/bin:/bin");
const isRoot = process.getuid?.() === 0;
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "headroom-bubblewrap-")));
// Another user cannot reach the configuration of root.
vi.stubEnv("XDG_CONFIG_HOME", folder);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const help = program === null ? "" : spawnSync(program, ["--help"], { encoding: "utf8" }).stdout;
const isSupported = help.includes("--disable-userns");

/** The exit code of a command in a sandbox of an ordinary user. */
function exitCodeOf(disablesUserNamespaces: boolean, ...job: readonly string[]): number | null {
  const [homeDir, tmpDir] = [path.join(folder, "home"), path.join(folder, "tmp")];
  for (const directory of [homeDir, tmpDir]) {
    mkdirSync(directory, { recursive: true });
    if (isRoot) [folder, directory].forEach((each) => chownSync(each, NOBODY, NOBODY));
  }
  const view = { homeDir, writable: [], readable: [], tmpDir, shmDir: null, disablesUserNamespaces };
  const command = [program ?? "", ...bubblewrapArgs(view), ...job];
  const asNobody = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const [first = "", ...rest] = isRoot ? [...asNobody, ...command] : command;
  return spawnSync(first, rest, { cwd: "/", encoding: "utf8", env: { PATH: "/usr/bin:/bin" } }).status;
}

const canStart = isSupported && exitCodeOf(true, "true") === 0;
if (!canStart) console.warn("skipped: bwrap is older than 0.8, or an ordinary user cannot start it in this checkout");

it.skipIf(!canStart)("is refused a user namespace where bwrap can forbid it, and only there", () => {
  const unshare = ["unshare", "--user", "--map-root-user", "true"];
  expect([exitCodeOf(false, ...unshare), exitCodeOf(true, ...unshare)]).toEqual([0, 1]);
});
