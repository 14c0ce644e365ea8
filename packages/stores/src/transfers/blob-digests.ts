/** Compares downloaded objects with their tags, for stores whose tags are digests. */
import path from "node:path";
import { contentDigest, OperationalError } from "@headroom/platform";
import type { FoundContent } from "./found-content.ts";

/** Throws `wrongDigest` if a file of `content` has other bytes than its tag says. */
export async function checkBlobs(
  content: string,
  { files }: FoundContent,
  { uri, signal }: { readonly uri: string; readonly signal: AbortSignal },
): Promise<void> {
  for (const { name, object } of files) {
    const { digest } = await contentDigest(name === "" ? content : path.join(content, name), signal);
    if (digest !== object.tag)
      throw new OperationalError(
        "wrongDigest",
        `${uri} has other bytes than its manifest says${name === "" ? "" : ` (${name})`}. Read it again; if that repeats, push it again.`,
      );
  }
}
