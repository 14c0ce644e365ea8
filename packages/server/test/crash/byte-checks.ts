/** Comparisons of the registry with the bytes of a store. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { contentDigest, digestOfFiles } from "@headroom/platform";
import type { HeadroomClient } from "@headroom/protocol";
import type { SmallS3Server } from "@headroom/stores/testing";

/** Every verified place of every version must have exactly the bytes of the digest. */
export async function compareBytes(
  client: HeadroomClient,
  server: SmallS3Server,
  names: readonly string[],
): Promise<string[]> {
  const violations: string[] = [];
  for (const name of names) {
    const { items } = await client.listArtifactVersions(name, { limit: 500, deleted: true });
    if (items.length === 0) violations.push(`no ${name} was registered`);
    for (const { ref, digest, deleted } of items) {
      if (deleted) continue;
      const { places } = await client.getArtifactVersion(ref);
      const verified = places.filter(({ state }) => state === "verified");
      if (!verified.some(({ uri }) => uri.startsWith("s3:"))) violations.push(`${ref} is in no store`);
      for (const { uri } of verified)
        if ((await digestOf(server, uri)) !== digest) violations.push(`${ref} is not at ${uri}`);
    }
  }
  return violations;
}

async function digestOf(server: SmallS3Server, uri: string): Promise<string> {
  if (uri.startsWith("s3:")) return digestAt(server, uri);
  return existsSync(uri) ? (await contentDigest(uri)).digest : "nothing";
}

/** As `contentDigest` of a directory. */
export function digestAt({ objects }: SmallS3Server, uri: string): string {
  const key = uri.replace("s3://lake/", "");
  const files = [...objects].filter(([each]) => each.startsWith(`${key}/`));
  const hashed = files.map(([each, bytes]) => ({
    name: each.slice(key.length + 1),
    hex: createHash("sha256").update(bytes).digest("hex"),
    bytes: bytes.length,
  }));
  return digestOfFiles(hashed.toSorted((left, right) => (left.name < right.name ? -1 : 1))).digest;
}
