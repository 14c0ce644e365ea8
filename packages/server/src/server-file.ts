/** The file of the state directory by which clients find the control plane. */
import { renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { TlsPair } from "@headroom/platform";

export const SERVER_FILE = "server.json";

/**
 * Writes the file by which the CLI finds the control plane of a directory, with the fingerprint of the certificate that
 * the CLI accepts there. The file is replaced atomically.
 */
export function announce(home: string, url: string, tls: TlsPair | null): void {
  const file = path.join(home, SERVER_FILE);
  const draft = `${file}.${process.pid}`;
  writeFileSync(
    draft,
    `${JSON.stringify({ url, pid: process.pid, ...(tls === null ? {} : { certificateSha256: tls.fingerprint }) })}\n`,
    { mode: 0o600 },
  );
  renameSync(draft, file);
}
