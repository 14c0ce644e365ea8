/** Names of artifacts in OCI registries: `HOST[:PORT]/NAME:TAG` and `HOST[:PORT]/NAME@sha256:DIGEST`, with or without `oci://`. */

export interface OciReference {
  /** Host with port, as in a URL. */
  readonly registry: string;
  readonly name: string;
  /** A tag, or `sha256:` and 64 hexadecimal digits. */
  readonly at: string;
}

/** Grammar of the OCI distribution specification, v1.1. */
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*|\[[0-9a-fA-F:]{2,39}\])(?::[0-9]{1,5})?$/;
const LENGTH_MAX = 512;
export const SHA256: RegExp = /^sha256:[0-9a-f]{64}$/;

/** `null`: the text is no reference. Without a tag it names the tag `latest`. */
export function parseOciReference(text: string): OciReference | null {
  const plain = text.startsWith("oci://") ? text.slice("oci://".length) : text;
  const slash = plain.indexOf("/");
  if (slash < 1 || plain.length > LENGTH_MAX) return null;
  const [named = "", digest, further] = plain.slice(slash + 1).split("@");
  const registry = plain.slice(0, slash);
  // A digest comes before a tag, as in other clients.
  const colon = named.indexOf(":");
  const name = colon < 0 ? named : named.slice(0, colon);
  const at = digest ?? (colon < 0 ? "latest" : named.slice(colon + 1));
  const isAt = digest === undefined ? TAG.test(at) : SHA256.test(at);
  return further === undefined && HOST.test(registry) && NAME.test(name) && isAt ? { registry, name, at } : null;
}

export const ociUri = ({ registry, name, at }: OciReference): string =>
  `oci://${registry}/${name}${at.startsWith("sha256:") ? "@" : ":"}${at}`;

/** `registry` as a declaration names it. */
export const isRegistryHost = (text: string): boolean => text.length <= LENGTH_MAX && HOST.test(text);
