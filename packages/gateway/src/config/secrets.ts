/** Secrets that gateway.yaml refers to: in an environment variable, or in a file. */
import { readFileSync, statSync } from "node:fs";

export type SecretSource = { readonly env: string } | { readonly file: string };

/** A credential for a header, without white space. */
export function secretOf(source: SecretSource): string {
  return matching(source, /^[\x21-\x7e]+$/);
}

/** A whole header value, such as `Bearer abc`. */
export function headerValueOf(source: SecretSource): string {
  return matching(source, /^[\x20-\x7e]+$/);
}

/** The secret that gateways share. Throws if other users of the machine may read or write its file. */
export function coordinatorSecretOf(source: SecretSource): string {
  if ("file" in source) {
    const mode = statSync(source.file).mode & 0o777;
    if ((mode & 0o077) !== 0)
      throw new Error(
        `Other users may use the secret in ${source.file}, its mode is 0${mode.toString(8)}: chmod 600 ${source.file}.`,
      );
  }
  return secretOf(source);
}

function matching(source: SecretSource, pattern: RegExp): string {
  const text = "env" in source ? process.env[source.env] : readFileSync(source.file, "utf8");
  const name = "env" in source ? `the environment variable ${source.env}` : source.file;
  const value = text?.trim();
  if (value === undefined || value === "") throw new Error(`A key is missing: set ${name}.`);
  if (!pattern.test(value)) throw new Error(`The key in ${name} has characters that a header cannot carry.`);
  return value;
}
