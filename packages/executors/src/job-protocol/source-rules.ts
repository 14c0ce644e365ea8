/**
 * Whether the control plane may copy what work reports to a store: it reads with its own rights, and the file can lie in a declared store
 * whose readers and data rules do not admit the work.
 */
import { realpath } from "node:fs/promises";
import path from "node:path";
import { rootOf } from "@headroom/stores";
import type { StoreSet } from "@headroom/stores";
import { isWithin } from "./untrusted-files.ts";
import type { UploadRecord } from "./upload-record.ts";

/**
 * The reason; `null`: the work may read the file, or directory, so it may be copied. `source`: its path without links. Own directories
 * of attempts (`homeDir`) have only what the attempt wrote.
 */
export async function sourceRefusal(
  stores: Pick<StoreSet, "declarations" | "readingRefusal">,
  { source, homeDir }: { readonly source: string; readonly homeDir: string },
  { store, team, rule }: UploadRecord,
): Promise<string | null> {
  if (isWithin(await realOf(homeDir), source)) return null;
  let around = { depth: 0, uri: `file://${source}`, isOwn: false };
  for (const each of stores.declarations) {
    if (each.type !== "shared") continue;
    // A store can be declared by a path with links.
    const root = await realOf(each.path);
    const uri = `${rootOf(each)}${path.relative(root, source)}`;
    // Bytes that stay in a store of one rule keep that rule.
    const isOwn = each.name === store && each.rules.length === 1;
    if (isWithin(root, source) && root.length > around.depth) around = { depth: root.length, uri, isOwn };
    else if (isWithin(source, root))
      return `${source} contains the store ${each.name}. Report a path within one store.`;
  }
  return stores.readingRefusal(around.uri, { team, rule, version: null, isOwn: around.isOwn });
}

const realOf = (directory: string): Promise<string> => realpath(directory).catch(() => directory);
