/**
 * The bearer token. It is created at the first start and stored only in the state directory, where only the directory's
 * owner can read it.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { OperationalError } from "@headroom/platform";

const TOKEN_FILE = "token";
/** The token has 256 bits, so that guessing is infeasible at any rate of requests. */
const TOKEN_BYTES = 32;
const TOKEN_FORM = /^[A-Za-z0-9_-]{32,200}$/;

function tokenPath(home: string): string {
  return path.join(home, TOKEN_FILE);
}

/** Reads the token of `home`, or creates one that only its owner can read. */
export function loadToken(home: string): string {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const file = tokenPath(home);
  try {
    return create(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const token = readFileSync(file, "utf8").trim();
  if (!TOKEN_FORM.test(token)) {
    throw new OperationalError(
      "tokenDamaged",
      `${file} does not hold a token. Remove it to have a new one made; clients then need the new one.`,
    );
  }
  if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
    throw new OperationalError(
      "tokenExposed",
      `${file} can be read by others. Run: chmod 600 ${file} (or remove it, to have a new token made).`,
    );
  }
  return token;
}

/** Creates the file exclusively, so that two starts at the same time use one token. */
function create(file: string): string {
  const descriptor = openSync(file, "wx", 0o600);
  try {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    writeSync(descriptor, `${token}\n`);
    fsyncSync(descriptor);
    return token;
  } finally {
    closeSync(descriptor);
  }
}
