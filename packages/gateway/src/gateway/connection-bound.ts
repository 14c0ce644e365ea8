/**
 * Maximum number of client connections. Each may need a second file descriptor for its replica. Without a free
 * descriptor the gateway cannot accept connections, write usage segments or read files.
 */
import { readFileSync } from "node:fs";

/** Number of file descriptors that are reserved for files, probes, the admin address and the coordinator. */
const RESERVED = 256;

/**
 * The soft limit of open files, read from the text of `/proc/self/limits`. Undefined if it is unlimited or not stated.
 */
export function openFilesMax(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

export function connectionsWithin(configured: number, openFiles: number | undefined): number {
  if (openFiles === undefined) return configured;
  return Math.min(configured, Math.max(1, Math.floor((openFiles - RESERVED) / 2)));
}

/**
 * The maximum number of connections of this process. If the limit of open files lowers the configured maximum, `log`
 * gets a message.
 */
export function connectionBound(configured: number, log: (line: string) => void): number {
  let limits = "";
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    // There is no `/proc` (not Linux), so the configured maximum applies.
  }
  const openFiles = openFilesMax(limits);
  const bound = connectionsWithin(configured, openFiles);
  if (bound < configured) {
    log(
      `bounds.connections is ${configured}, but the process may open ${openFiles} files: at most ${bound} clients are accepted. ` +
        `Raise the limit to ${2 * configured + RESERVED} (ulimit -n, or LimitNOFILE of the service).`,
    );
  }
  return bound;
}
