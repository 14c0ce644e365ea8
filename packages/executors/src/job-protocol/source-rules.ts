/**
 * Whether the control plane may copy what work reports to a store: it reads with its own rights, and the file can lie in a declared store
 * whose readers and data rules do not admit the work.
 */
import { realpath } from "node:fs/promises";
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import type { StoreDeclaration, StoreSet } from "@headroom/stores";
import type { RealPaths } from "./real-paths.ts";
import { isWithin } from "./untrusted-files.ts";
import type { UploadRecord } from "./upload-record.ts";

type SharedStore = StoreDeclaration & { readonly type: "shared" };

interface StoreRoot {
  readonly store: SharedStore;
  /** A store can be declared by a path with links. */
  readonly root: string;
}

/**
 * The reason; `null`: the work may read the file, or directory, so it may be copied. `source`: its path without links. Own directories
 * of attempts (`homeDir`) have only what the attempt wrote. Throws a retryable `OperationalError` if a store did not answer until now.
 */
export async function sourceRefusal(
  stores: Pick<StoreSet, "declarations" | "readingRefusal">,
  { source, homeDir, paths }: { readonly source: string; readonly homeDir: string; readonly paths: RealPaths },
  { store, team, rule }: UploadRecord,
): Promise<string | null> {
  if (isWithin((await paths.of(homeDir)).path, source)) return null;
  // Paths, not file URIs: their names can have what a URI would take for an escape.
  let around = { depth: 0, uri: source, isOwn: false };
  const shared = stores.declarations.filter((each) => each.type === "shared");
  for (const { store: each, root } of await rootsOf(shared, source, paths)) {
    const uri = path.join(each.path, path.relative(root, source));
    // Bytes that stay in a store of one rule keep that rule.
    const isOwn = each.name === store && each.rules.length === 1;
    if (isWithin(root, source) && root.length > around.depth) around = { depth: root.length, uri, isOwn };
    else if (isWithin(source, root))
      return `${source} contains the store ${each.name}. Report a path within one store.`;
  }
  return stores.readingRefusal(around.uri, { team, rule, version: null, isOwn: around.isOwn });
}

/** A source that answers lies in no store that is silent before and after that: such a store is compared by its last known root. */
async function rootsOf(
  shared: readonly SharedStore[],
  source: string,
  paths: RealPaths,
): Promise<readonly StoreRoot[]> {
  const found = await Promise.all(shared.map(async (store) => ({ store, ...(await paths.of(store.path)) })));
  const silent = found.filter(({ isAnswered }) => !isAnswered);
  if (silent.length > 0) await realpath(source);
  for (const { store } of silent)
    if (!paths.isSilent(store.path))
      throw new OperationalError("storeSilent", `The store ${store.name} did not answer.`, { retryable: true });
  return found.map(({ store, path: root }) => ({ store, root }));
}
