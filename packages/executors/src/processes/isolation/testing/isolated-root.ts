/** Surroundings of tests with isolated attempts. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findBubblewrap } from "../bubblewrap.ts";

/** A directory that a sandbox shows. The usual directory for temporary files is hidden in it. */
export function isolatedRoot(): string {
  const root = fileURLToPath(new URL("../../../../../../.build/isolated", import.meta.url));
  mkdirSync(root, { recursive: true });
  return path.resolve(root);
}

/** Whether tests with bubblewrap can run. In CI they must, so a missing program fails there instead of being skipped. */
export function hasBubblewrap(): boolean {
  const isInstalled = findBubblewrap(process.env["PATH"] ?? "") !== null;
  if (!isInstalled && process.env["CI"] !== undefined) throw new Error("bubblewrap is not installed");
  if (!isInstalled) process.stderr.write("SKIPPED: bubblewrap is not installed, so isolation is not tested\n");
  return isInstalled;
}
