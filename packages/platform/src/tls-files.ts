/** TLS from files: reads a certificate and its key, and renews them in a running server when the files change. */
import { X509Certificate } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { createSecureContext } from "node:tls";
import type { SecureContextOptions } from "node:tls";
import { OperationalError } from "./operational-error.ts";

/** Paths of PEM files. The certificate file can contain the whole chain. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** SHA-256 of the server's own certificate, in hexadecimal without colons. */
  readonly fingerprint: string;
}

/** Older versions of TLS are refused (RFC 8996). */
export const TLS_VERSION_MIN = "TLSv1.2";

/** Interval in ms at which the files are compared. Polling also sees a changed link, by which Kubernetes renews. */
const WATCH_MS = 1_000;

/** Reads the files. Throws if one cannot be read or the key is not the key of the certificate. */
export function readTlsFiles({ certificate, key }: TlsFiles): TlsPair {
  try {
    const pair = { cert: readFileSync(certificate), key: readFileSync(key) };
    createSecureContext(pair);
    const fingerprint = new X509Certificate(pair.cert).fingerprint256.replaceAll(":", "").toLowerCase();
    return { ...pair, fingerprint };
  } catch (error) {
    throw new OperationalError(
      "tlsUnusable",
      `TLS cannot use the certificate ${certificate} with the key ${key}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

export interface TlsRenewal {
  readonly server: { setSecureContext(options: SecureContextOptions): void };
  readonly files: TlsFiles;
  /** Called after new connections get the new certificate. */
  renewed(pair: TlsPair): void;
  /** Called when the changed files cannot be used. The server goes on with the earlier certificate. */
  failed(message: string): void;
}

/**
 * Renews the certificate when a file changes. Open connections continue with the earlier one. A renewal replaces two
 * files, one after the other: between them the pair does not match, and the second change applies it. Returns a
 * function that ends the watch.
 */
export function renewTls({ server, files, renewed, failed }: TlsRenewal): () => void {
  let active = readTlsFiles(files);
  const changed = (): void => {
    try {
      const pair = readTlsFiles(files);
      if (pair.cert.equals(active.cert) && pair.key.equals(active.key)) return;
      server.setSecureContext({ cert: pair.cert, key: pair.key, minVersion: TLS_VERSION_MIN });
      active = pair;
      renewed(pair);
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error));
    }
  };
  const watched = [files.certificate, files.key];
  for (const file of watched) watchFile(file, { interval: WATCH_MS, persistent: false }, changed);
  return () => {
    for (const file of watched) unwatchFile(file, changed);
  };
}
