/**
 * Artifacts of runs as files below `mlflow-artifacts` of the state directory. A file appears complete or not at all: an
 * upload is written beside the tree, synced and moved. Links are never followed, because work of the same user could
 * have put them there.
 */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, opendir, realpath, rename, rm, statfs } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";
import { artifactSegments, UPLOADS_FOLDER } from "./artifact-path.ts";
import { invalid, missing, MlflowError } from "./mlflow-error.ts";

const FOLDER = "mlflow-artifacts";
const FILE_BYTES_MAX = 4 * 1024 ** 3;
/** Bytes that an upload must leave free, because the journal is on the same disk. */
const FREE_BYTES_MIN = 1024 ** 3;
/** Bytes of an upload after which the free space is read again. */
const CHECKED_EVERY_BYTES = 64 * 1024 ** 2;
const UPLOADS_MAX = 16;
/** Maximum number of entries of a folder that are read. */
const ENTRIES_MAX = 20_000;
const ENTRIES_PER_PAGE = 1_000;

export interface ArtifactEntry {
  readonly path: string;
  readonly is_dir: boolean;
  readonly file_size?: number;
}

export interface ArtifactFile {
  readonly handle: FileHandle;
  readonly name: string;
  readonly size: number;
}

export class ArtifactStore {
  readonly #root: string;
  #uploadCount = 0;
  #prepared: Promise<void> | null = null;

  constructor(home: string) {
    this.#root = path.join(home, FOLDER);
  }

  async write(artifact: string, body: Readable | null, declaredBytes: number): Promise<void> {
    const segments = artifactSegments(artifact);
    if (segments.length === 0) throw invalid("Name the artifact to upload.");
    if (declaredBytes > FILE_BYTES_MAX) throw tooLarge();
    if (this.#uploadCount >= UPLOADS_MAX)
      throw new MlflowError("REQUEST_LIMIT_EXCEEDED", `${UPLOADS_MAX} uploads are in progress; try again in a moment.`);
    this.#uploadCount++;
    try {
      this.#prepared ??= this.#prepare();
      await this.#prepared.catch((error: unknown) => {
        this.#prepared = null;
        throw error;
      });
      await this.#requireSpace(declaredBytes);
      await this.#receive(segments, body);
    } finally {
      this.#uploadCount--;
    }
  }

  /** Uploads of an earlier process are incomplete, so they are removed. */
  async #prepare(): Promise<void> {
    const uploads = path.join(this.#root, UPLOADS_FOLDER);
    await rm(uploads, { recursive: true, force: true });
    await mkdir(uploads, { recursive: true, mode: 0o700 });
  }

  async #receive(segments: readonly string[], body: Readable | null): Promise<void> {
    const draft = path.join(this.#root, UPLOADS_FOLDER, randomUUID());
    try {
      const file = await open(draft, "wx", 0o600);
      try {
        if (body !== null) await this.#copy(body, file);
        await file.sync();
      } finally {
        await file.close();
      }
      const folder = await this.#folder(segments.slice(0, -1), "made");
      const target = path.join(folder, segments.at(-1) ?? "");
      const present = await lstat(target).catch(() => null);
      if (present?.isDirectory() === true) throw invalid("The artifact's path is a folder.");
      await rename(draft, target);
      await syncFolder(folder);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async #copy(body: Readable, file: FileHandle): Promise<void> {
    let [bytes, checkedAt] = [0, 0];
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > FILE_BYTES_MAX) throw tooLarge();
      if (bytes - checkedAt > CHECKED_EVERY_BYTES) {
        checkedAt = bytes;
        await this.#requireSpace(0);
      }
      await file.writeFile(piece);
    }
  }

  async #requireSpace(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.#root);
    if (bavail * bsize - bytes < FREE_BYTES_MIN)
      throw new MlflowError(
        "RESOURCE_EXHAUSTED",
        "The disk of the state directory is nearly full, so no artifact is accepted. Delete artifacts, or give the experiment an artifact_location in a store.",
      );
  }

  async open(artifact: string): Promise<ArtifactFile> {
    const segments = artifactSegments(artifact);
    const name = segments.at(-1);
    if (name === undefined) throw invalid("Name the artifact to download.");
    const folder = await this.#folder(segments.slice(0, -1), "present");
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = await open(path.join(folder, name), flags).catch(() => null);
    if (handle === null) throw notFound();
    const stat = await handle.stat();
    if (stat.isFile()) return { handle, name, size: stat.size };
    await handle.close();
    throw notFound();
  }

  /** Entries of a folder in the order of their names; a folder that does not exist has none. */
  async list(
    artifact: string,
    offset: number,
  ): Promise<{ readonly files: ArtifactEntry[]; readonly next: number | null }> {
    const segments = artifactSegments(artifact);
    const folder = await this.#folder(segments, "present").catch(() => null);
    if (folder === null) return { files: [], next: null };
    const names: string[] = [];
    for await (const { name } of await opendir(folder)) {
      if (segments.length > 0 || name !== UPLOADS_FOLDER) names.push(name);
      if (names.length >= ENTRIES_MAX) break;
    }
    const page = names.toSorted().slice(offset, offset + ENTRIES_PER_PAGE);
    const files: ArtifactEntry[] = [];
    for (const name of page) {
      const stat = await lstat(path.join(folder, name)).catch(() => null);
      if (stat?.isDirectory() === true) files.push({ path: name, is_dir: true });
      else if (stat?.isFile() === true) files.push({ path: name, is_dir: false, file_size: stat.size });
    }
    const end = offset + ENTRIES_PER_PAGE;
    return { files, next: end < names.length ? end : null };
  }

  /** Removes a file, or a folder with everything in it. Links are removed, not followed. */
  async remove(artifact: string): Promise<void> {
    const segments = artifactSegments(artifact);
    const name = segments.at(-1);
    if (name === undefined) throw invalid("Name the artifact to delete.");
    const target = path.join(await this.#folder(segments.slice(0, -1), "present"), name);
    if ((await lstat(target).catch(() => null)) === null) throw notFound();
    await rm(target, { recursive: true, force: true });
  }

  /** The folder, after a check that every part of its path is a real folder. */
  async #folder(segments: readonly string[], kind: "made" | "present"): Promise<string> {
    let folder = this.#root;
    for (const segment of segments) {
      folder = path.join(folder, segment);
      if (kind === "made") await makeFolder(folder);
      const stat = await lstat(folder).catch(() => null);
      if (stat?.isDirectory() === true) continue;
      throw kind === "made" ? invalid("A folder of the artifact's path is a file.") : notFound();
    }
    const [root, real] = await Promise.all([realpath(this.#root), realpath(folder)]).catch(() => [null, null]);
    if (root === null || real !== path.join(root, ...segments)) throw notFound();
    return folder;
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
    await syncFolder(path.dirname(folder));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Makes the names in the folder durable, without blocking the event loop. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const notFound = (): MlflowError => missing("No such artifact: there is no file or folder at this path.");
/** The answer closes the connection instead of reading on. */
const tooLarge = (): ProblemError => refuse("bodyTooLarge", `An artifact has at most ${FILE_BYTES_MAX} bytes.`);
