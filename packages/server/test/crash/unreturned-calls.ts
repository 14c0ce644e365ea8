/**
 * A kill ends threads inside system calls, and the trace does not show whether those calls took effect. The resulting
 * files show it, and the next run builds on them, so the files are read once all processes have ended.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import type { SystemCall } from "./system-calls.ts";

/**
 * Resolves calls that never returned, by the files under `root`: a call is omitted, or ends at line `end`. The position
 * of such a write in its file is unknown, so the call gets the file's whole content.
 */
export function settleUnreturned(calls: readonly SystemCall[], root: string, end: number): SystemCall[] {
  return calls.flatMap((call) => {
    if (Number.isFinite(call.exit)) return [call];
    if (!call.path.startsWith(`${root}/`) || !mayHaveHappened(call)) return [];
    const settled = { ...call, exit: end };
    return [settled.kind === "write" ? { ...settled, found: readFileSync(settled.path) } : settled];
  });
}

function mayHaveHappened(call: SystemCall): boolean {
  switch (call.kind) {
    case "sync":
      return false;
    case "write":
      return existsSync(call.path) && statSync(call.path).isFile();
    case "open":
      return call.flags.has("O_CREAT") && existsSync(call.path) && (!call.flags.has("O_TRUNC") || isEmpty(call.path));
    case "truncate":
      return existsSync(call.path) && statSync(call.path).size === call.length;
    case "mkdir":
    case "special":
      return existsSync(call.path);
    case "link":
      return existsSync(call.to);
    case "unlink":
      return !existsSync(call.path);
    case "rename":
      return existsSync(call.to) && !existsSync(call.path);
    default:
      return call satisfies never;
  }
}

const isEmpty = (file: string): boolean => statSync(file).size === 0;
