/** Brings the files of a model to a registry as a ModelPack artifact. Blobs that are there already are not sent again. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { contentFiles, digestOfFiles, OperationalError } from "@headroom/platform";
import { packModel } from "./model-pack.ts";
import type { PackedFile } from "./model-pack.ts";
import type { OciReference } from "./oci-reference.ts";
import { sha256 } from "./registry-client.ts";
import type { RegistryClient } from "./registry-client.ts";

const PIECE_BYTES = 1024 * 1024;
const PART_BYTES = 16 * 1024 * 1024;
/** Attempts of one part in a row. With the pauses they take about 12 s. */
const TRIES_MAX = 6;
const PAUSE_MS = 200;
const PAUSE_MAX_MS = 5_000;

export interface ModelToPush {
  /** File or directory. */
  readonly at: string;
  /** Id of the version, and its digest, which the bytes must have. */
  readonly version: string;
  readonly digest: string | null;
  readonly parameters: Readonly<Record<string, string>>;
}

export interface PushProgress {
  readonly name: string;
  readonly bytes: number;
  readonly totalBytes: number;
}

export interface Pushed {
  /** Digest of the manifest, by which the artifact can be named for ever. */
  readonly digest: string;
  readonly bytes: number;
  readonly files: number;
  /** Bytes that were sent; the registry had the others. */
  readonly sentBytes: number;
}

export async function pushModel(
  client: RegistryClient,
  { name, at: tag }: OciReference,
  model: ModelToPush,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (progress: PushProgress) => void },
): Promise<Pushed> {
  const paths = await contentFiles(model.at, signal);
  const isOneFile = paths.length === 1 && paths[0] === "";
  const sources = paths.map((each) => ({
    at: each === "" ? model.at : path.join(model.at, each),
    inContent: each,
    name: each === "" ? path.basename(model.at) : each,
  }));
  const files: (PackedFile & { readonly at: string; readonly inContent: string })[] = [];
  for (const source of sources) files.push({ ...source, ...(await hashOf(source.at, signal)) });
  const content = digestOfFiles(
    files.map(({ inContent, digest, bytes }) => ({ name: inContent, hex: digest.slice("sha256:".length), bytes })),
  );
  if (model.digest !== null && content.digest !== model.digest)
    throw new OperationalError(
      "wrongDigest",
      `${model.at} has other bytes than ${model.version}: its digest is ${content.digest}, that of the version ${model.digest}.`,
    );
  let sentBytes = 0;
  for (const file of files) {
    if (await client.hasBlob(name, file.digest, signal)) continue;
    await sendFile(client, name, file, { signal, onProgress });
    sentBytes += file.bytes;
  }
  const packed = { files, isOneFile, contentDigest: content.digest, version: model.version };
  const [, title = model.version, number = ""] = /^[a-z]+:(?:.*\/)?([^/@]+)@([0-9]+)$/.exec(model.version) ?? [];
  const { config, manifest } = packModel(packed, { name: title, version: number, parameters: model.parameters });
  if (!(await client.hasBlob(name, sha256(config), signal))) await sendBytes(client, name, config, signal);
  await client.putManifest(name, tag, manifest, signal);
  return { digest: manifest.digest, bytes: content.bytes, files: files.length, sentBytes };
}

const openPlain = (at: string) => open(at, constants.O_RDONLY | constants.O_NOFOLLOW);

async function hashOf(at: string, signal: AbortSignal): Promise<{ readonly digest: string; readonly bytes: number }> {
  const file = await openPlain(at);
  try {
    const hash = createHash("sha256");
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let bytes = 0; ;) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, bytes);
      if (bytesRead === 0) return { digest: `sha256:${hash.digest("hex")}`, bytes };
      hash.update(piece.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

async function sendBytes(client: RegistryClient, name: string, data: Buffer, signal: AbortSignal): Promise<void> {
  const at = await client.beginUpload(name, signal);
  await client.finishUpload(name, await client.uploadPart(name, at, { from: 0, data }, signal), sha256(data), signal);
}

/** Sends a file in parts. After a cut it asks the registry how many bytes it has, and goes on from there. */
async function sendFile(
  client: RegistryClient,
  name: string,
  source: PackedFile & { readonly at: string },
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (progress: PushProgress) => void },
): Promise<void> {
  const file = await openPlain(source.at);
  try {
    let at = await client.beginUpload(name, signal);
    let from = 0;
    let tries = 0;
    while (from < source.bytes) {
      const data = Buffer.alloc(Math.min(PART_BYTES, source.bytes - from));
      const { bytesRead } = await file.read(data, 0, data.length, from);
      if (bytesRead < data.length)
        throw new OperationalError("unreadableContent", `${source.at} changed while it was read`);
      try {
        at = await client.uploadPart(name, at, { from, data }, signal);
        from += data.length;
        tries = 0;
        onProgress({ name: source.name, bytes: from, totalBytes: source.bytes });
      } catch (error) {
        if (!(error instanceof OperationalError && error.retryable) || ++tries === TRIES_MAX) throw error;
        await sleep(Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** tries), undefined, { signal });
        const state = await client.uploadState(name, at, signal).catch(() => undefined);
        if (state === null) at = await client.beginUpload(name, signal);
        if (state !== undefined) from = state?.bytes ?? 0;
        at = state?.at ?? at;
      }
    }
    await client.finishUpload(name, at, source.digest, signal);
  } finally {
    await file.close();
  }
}
