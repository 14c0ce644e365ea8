import { readFileSync } from "node:fs";

/** The version of this package, which all packages of the workspace share. */
export function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
