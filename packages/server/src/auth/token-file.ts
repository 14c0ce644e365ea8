/** The file of access tokens in the state directory. It has digests, never tokens, and belongs to its owner alone. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { OperationalError, syncPath } from "@headroom/platform";
import { accessToken } from "@headroom/protocol";
import { z } from "zod";

const FILE = "tokens.json";

const recordedToken = accessToken.extend({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });
const tokenFile = z.object({ version: z.literal(1), tokens: z.array(recordedToken) });

export type RecordedToken = Readonly<z.output<typeof recordedToken>>;

/**
 * The tokens of earlier processes. A file that cannot be read ends the start: without it, revoked tokens and lost tokens
 * could not be told apart.
 */
export function readTokens(home: string): readonly RecordedToken[] {
  const file = path.join(home, FILE);
  if (!existsSync(file)) return [];
  try {
    return tokenFile.parse(JSON.parse(readFileSync(file, "utf8"))).tokens;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw new OperationalError(
      "tokensDamaged",
      `${file} cannot be read (${reason}). Restore it from a backup, or remove it: all access tokens then end, and the token of the state directory remains.`,
    );
  }
}

export function writeTokens(home: string, tokens: readonly RecordedToken[]): void {
  const file = path.join(home, FILE);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify({ version: 1, tokens }, null, 1)}\n`, { mode: 0o600 });
  syncPath(draft);
  renameSync(draft, file);
  syncPath(home);
}
