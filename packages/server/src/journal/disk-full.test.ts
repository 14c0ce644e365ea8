import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeDirectory, temporaryDirectory } from "../driver/testing/bench-home.ts";

const script = new URL("testing/fill-disk.ts", import.meta.url).pathname;
/**
 * The disk is a separate file system in a separate mount namespace: other processes do not see it, and it is removed
 * with the last process that uses it.
 */
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
if (!canMount) console.warn("skipped: this user may not mount a file system in a namespace, so no disk can be filled");

let home: string;
beforeEach(() => {
  home = temporaryDirectory();
});
afterEach(() => removeDirectory(home));

it.skipIf(!canMount)("ends with a message when the disk is full, and goes on once there is space", () => {
  const commands = [
    `mount -t tmpfs -o size=4m none "${home}"`,
    `head -c 2097152 /dev/zero > "${home}/ballast"`,
    `"${process.execPath}" "${script}" fill "${home}"`,
    `rm "${home}/ballast"`,
    `exec "${process.execPath}" "${script}" check "${home}"`,
  ];
  const { stdout, stderr, status } = spawnSync("unshare", ["-rm", "sh", "-c", commands.join("\n")], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  const lines = stdout.trim().split("\n");
  const tagged = (tag: string) =>
    lines.filter((line) => line.startsWith(`${tag} `)).map((line) => line.slice(tag.length + 1));
  const [fatal = ""] = tagged("fatal");
  expect(fatal).toMatch(/^journalDiskFull The disk of the journal is full .* Free space and start again\.$/);
  const acknowledged = tagged("acknowledged");
  expect(acknowledged.length).toBeGreaterThan(50);
  const kept = tagged("kept");
  expect(acknowledged.slice(0, -1).filter((id) => !kept.includes(id))).toEqual([]);
  const [verified = ""] = tagged("verified");
  const [sequence, redecided] = verified.split(" ");
  expect(redecided).toBe(sequence);
  expect(status).toBe(0);
});

it.skipIf(!canMount)("answers the request that fills the disk with 503 before the control plane ends", () => {
  const commands = [
    `mount -t tmpfs -o size=24m,mode=700 none "${home}"`,
    `head -c 8388608 /dev/zero > "${home}/ballast"`,
    `"${process.execPath}" "${script}" serve "${home}"`,
  ];
  const { stdout, stderr, status } = spawnSync("unshare", ["-rm", "sh", "-c", commands.join("\n")], {
    encoding: "utf8",
  });
  expect(stderr).toMatch(/^The control plane ends: The disk of the journal is full/);
  expect(stdout).toMatch(/^answered 503 journalFailed after [1-9][0-9]+\n$/);
  expect(status).toBe(1);
});
