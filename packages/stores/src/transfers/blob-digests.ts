/** Compares downloaded objects with their tags, for stores whose tags are digests. */
import { OperationalError } from "@headroom/platform";
import type { ArrivingDigests } from "./arriving-digests.ts";
import type { FoundContent } from "./found-content.ts";

/** Throws `wrongDigest` if a file has other bytes than its tag says. */
export async function checkBlobs(
  digests: ArrivingDigests,
  { files }: FoundContent,
  { uri, signal }: { readonly uri: string; readonly signal: AbortSignal },
): Promise<void> {
  for (const [index, { name, hex }] of (await digests.files(signal)).entries())
    if (`sha256:${hex}` !== files[index]?.object.tag)
      throw new OperationalError(
        "wrongDigest",
        `${uri} has other bytes than its manifest says${name === "" ? "" : ` (${name})`}. Read it again; if that repeats, push it again.`,
      );
}
