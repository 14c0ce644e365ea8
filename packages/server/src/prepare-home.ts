/** The state directory: created, or checked for the access of others. */
import { statSync } from "node:fs";
import { makeDirectory, OperationalError } from "@headroom/platform";

/** Mode bits that let users other than the owner write to the directory. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Creates the state directory, or refuses one in which other users could replace the token, the journal or a record.
 */
export function prepareHome(home: string): void {
  try {
    makeDirectory(home, 0o700);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperationalError("unusableHome", `The state directory ${home} cannot be used: ${reason}.`, {
      cause: error,
    });
  }
  const mode = statSync(home).mode & 0o777;
  if (process.platform === "win32" || (mode & WRITABLE_BY_OTHERS) === 0) return;
  throw new OperationalError(
    "homeExposed",
    `Other users can write to the state directory ${home} (mode ${mode.toString(8).padStart(4, "0")}). Run: chmod go-w ${home}`,
  );
}
