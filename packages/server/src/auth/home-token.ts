/**
 * The token of the state directory. It is created at the first start and stored only in the state directory, where only the directory's
 * owner can read it.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { OperationalError } from "@headroom/platform";

const TOKEN_FILE = "token";
/** The token has 256 bits, so that guessing is infeasible at any rate of requests. */
const TOKEN_BYTES = 32;
const TOKEN_FORM = /^[A-Za-z0-9_-]{32,200}$/;

function tokenPath(home: string): string {
  return path.join(home, TOKEN_FILE);
}

/**
 * Reads the token of `home`, or creates one that only its owner can read. `given`: a token from elsewhere, which replaces
 * the one of `home`, so that the commands on this machine find it.
 */
export function loadToken(home: string, given?: string): string {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const file = tokenPath(home);
  if (given !== undefined) return replaced(file, given);
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

function replaced(file: string, token: string): string {
  if (!TOKEN_FORM.test(token))
    throw new OperationalError(
      "tokenUnusable",
      "The given token cannot be used: it must have 32 to 200 letters, digits, hyphens and underscores.",
    );
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600 });
  renameSync(draft, file);
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
