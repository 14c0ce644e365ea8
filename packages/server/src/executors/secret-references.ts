/** Secrets of executors, which declarations name by reference: `file:/path` or `env:NAME`. */
import { readFileSync } from "node:fs";
import { OperationalError } from "@headroom/platform";

export function readSecret(reference: string): string {
  const [kind, ...rest] = reference.split(":");
  const place = rest.join(":");
  if (kind === "env") {
    const value = process.env[place];
    if (value !== undefined && value !== "") return value;
    throw unreadable(reference, `the environment variable ${place} is not set`);
  }
  if (kind !== "file") throw unreadable(reference, "a reference begins with file: or env:");
  try {
    return readFileSync(place, "utf8").trim();
  } catch (error) {
    throw unreadable(reference, error instanceof Error ? error.message : String(error));
  }
}

const unreadable = (reference: string, reason: string): OperationalError =>
  new OperationalError("secretUnreadable", `The secret ${reference} cannot be read: ${reason}.`);
