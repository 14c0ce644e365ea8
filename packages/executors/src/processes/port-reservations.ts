/**
 * Ports that supervisors of this user on this machine have chosen and whose workers may not have bound them yet. Each is a
 * file that only one process can create. A reservation ends with its process, or after half an hour.
 */
import { lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Longer than a server takes to load a large model and bind its port. */
const HELD_MS = 1_800_000;

/**
 * Whether the port is reserved for this process now. If reservations cannot be kept, every port counts as reserved: work
 * starts, and two replicas that choose one port at once end with an error and start again.
 */
export function reservePort(port: number, directory: string = ownDirectory()): boolean {
  if (!isUsable(directory)) return true;
  const file = path.join(directory, String(port));
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return true;
    }
    if (!isOver(file)) return false;
    rmSync(file, { force: true });
  }
  return false;
}

const ownDirectory = (): string => path.join(tmpdir(), `headroom-ports-${process.getuid?.() ?? "user"}`);

/** Another user could have made the directory: then its files say nothing. */
function isUsable(directory: string): boolean {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { uid } = lstatSync(directory);
    return lstatSync(directory).isDirectory() && (process.getuid === undefined || uid === process.getuid());
  } catch {
    return false;
  }
}

function isOver(file: string): boolean {
  try {
    if (Date.now() - statSync(file).mtimeMs > HELD_MS) return true;
    const pid = Number(readFileSync(file, "utf8"));
    // The file of a process that is creating it is empty for a moment.
    return pid > 0 && !isAlive(pid);
  } catch {
    return true;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
