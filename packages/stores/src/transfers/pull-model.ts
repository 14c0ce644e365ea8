/** Brings an artifact of a registry to a directory or file. A cut transfer goes on with the missing parts. */
import { lstat, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import path from "node:path";
import { HeldDirectory, makeDirectory, OperationalError } from "@headroom/platform";
import { OciStore } from "../objects/oci-store.ts";
import { missingObject, PART_BYTES } from "../objects/object-store.ts";
import { readModelPack } from "../registry/model-pack.ts";
import { ociUri } from "../registry/oci-reference.ts";
import type { OciReference } from "../registry/oci-reference.ts";
import type { RegistryClient } from "../registry/registry-client.ts";
import { DigestThread } from "./arriving-digests.ts";
import { checkBlobs } from "./blob-digests.ts";
import { CONTENT, download, draftFiles } from "./download.ts";
import type { Transfer } from "./download.ts";
import { FairTurns } from "./fair-turns.ts";
import { findContent } from "./found-content.ts";
import type { FoundContent } from "./found-content.ts";

const PARALLEL = 8;
/** Drafts are compared with the digests of all files, so parts of another boot can be used. */
const BOOT = "any";

interface Pulled {
  readonly manifestDigest: string;
  /** Digest of the content, as versions have it. */
  readonly digest: string;
  readonly bytes: number;
  readonly files: number;
  /** Id of the version that was pushed; `null`: another tool packed it. */
  readonly version: string | null;
}

interface PullWatch {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly bytes: number; readonly totalBytes: number }) => void;
}

/** Nothing lies at `target` before all bytes were compared with their digests. */
export async function pullModel(
  client: RegistryClient,
  reference: OciReference,
  target: string,
  { signal, onProgress }: PullWatch,
): Promise<Pulled> {
  const uri = ociUri(reference);
  if (existsSync(target))
    throw new OperationalError("unusableDirectory", `${target} exists. Name a path that does not exist.`);
  const manifest = await client.manifest(reference.name, reference.at, signal);
  if (manifest === null) throw missingObject(uri);
  const model = readModelPack(manifest, uri);
  const store = new OciStore(client, reference.registry, PART_BYTES);
  const key = `${reference.name}@${manifest.digest}`;
  const found = await findContent({ store, key, uri }, signal);
  let bytes = 0;
  const onBytes = (more: number): void => onProgress({ bytes: (bytes += more), totalBytes: found.bytes });
  const dir = `${target}.${manifest.digest.slice("sha256:".length, "sha256:".length + 12)}.partial`;
  await refuseForeign(dir);
  const transfer = { store, turns: new FairTurns(PARALLEL), holder: onBytes, uri, parallel: PARALLEL, signal, onBytes };
  const content = path.join(dir, CONTENT);
  const digest = await downloadCompared(transfer, found, dir);
  if (model.contentDigest !== null && digest !== model.contentDigest)
    await refuse(
      dir,
      `${uri} has other bytes than the version that was pushed: ${digest}, not ${model.contentDigest}.`,
    );
  await rename(content, target);
  await rm(dir, { recursive: true, force: true });
  return {
    manifestDigest: manifest.digest,
    digest,
    bytes: found.bytes,
    files: found.files.length,
    version: model.version,
  };
}

/** Returns the digest of the content, whose files have the digests of the manifest. */
async function downloadCompared(transfer: Transfer, found: FoundContent, dir: string): Promise<string> {
  const thread = new DigestThread();
  makeDirectory(dir, 0o700);
  const draft = await HeldDirectory.open(dir);
  const digests = thread.begin(draftFiles(draft, found), transfer.store.partBytes);
  try {
    await download({ ...transfer, digests }, found, { dir: draft, bootId: BOOT });
    try {
      await checkBlobs(digests, found, { uri: transfer.uri, signal: transfer.signal });
    } catch (error) {
      // The next pull must not go on with these bytes.
      if (!transfer.signal.aborted) await rm(dir, { recursive: true, force: true });
      throw error;
    }
    return await digests.digest(transfer.signal);
  } finally {
    await thread.close();
    await draft.close();
  }
}

/** In a directory for everybody, such as /tmp, another user could put links there, through which files would be written. */
async function refuseForeign(dir: string): Promise<void> {
  const stat = await lstat(dir).catch(() => null);
  if (stat === null || (stat.isDirectory() && stat.uid === process.getuid?.())) return;
  throw new OperationalError(
    "unusableDirectory",
    `${dir} is no directory of this user. Remove it, or name another path.`,
  );
}

/** The next pull must not go on with these bytes. */
async function refuse(dir: string, message: string): Promise<never> {
  await rm(dir, { recursive: true, force: true });
  throw new OperationalError("wrongDigest", `${message} Pull it again; if that repeats, push it again.`);
}
