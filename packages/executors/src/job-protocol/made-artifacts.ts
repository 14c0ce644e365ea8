/**
 * Artifacts that an attempt reported and that are to be registered (`model:chat`), with the digests of their bytes. The
 * executor reads the bytes itself: what a job says about them proves nothing.
 */
import { isRegistered } from "@headroom/model";
import type { ReportedArtifact } from "@headroom/model";
import { OperationalError, contentDigest, unlessAborted } from "@headroom/platform";
import { readableIn } from "./attempt-roots.ts";
import type { AttemptPlaces } from "./attempt-roots.ts";

/** A workload declares at most 64 artifacts. */
const NAMES_MAX = 64;

export type ArtifactLine = Pick<ReportedArtifact, "name" | "path" | "metrics" | "parameters">;

export class MadeArtifacts {
  readonly #lines = new Map<string, ArtifactLine>();

  /** The newest report of a name counts. */
  take(lines: readonly ArtifactLine[]): void {
    for (const line of lines)
      if (isRegistered(line.name) && (this.#lines.has(line.name) || this.#lines.size < NAMES_MAX))
        this.#lines.set(line.name, line);
  }

  /**
   * The artifacts with their digests. Only paths in the directories of the attempt are read: a job could name any file of
   * the machine. Others are registered without a digest, and so are those that were not read when the signal came.
   */
  async withDigests(places: AttemptPlaces, signal: AbortSignal): Promise<readonly ReportedArtifact[]> {
    const made: ReportedArtifact[] = [];
    for (const line of this.#lines.values()) made.push({ ...line, ...(await contentOf(line.path, places, signal)) });
    return made;
  }
}

type Content = Pick<ReportedArtifact, "digest" | "bytes" | "problem">;

async function contentOf(target: string, places: AttemptPlaces, signal: AbortSignal): Promise<Content> {
  if (signal.aborted) return {};
  try {
    return await unlessAborted(digestIn(target, places, signal), signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return {};
    return { problem: problemOf(error, target) };
  }
}

async function digestIn(target: string, places: AttemptPlaces, signal: AbortSignal): Promise<Content> {
  const real = await readableIn(target, places);
  if (real === null) return {};
  const { digest, bytes } = await contentDigest(real, signal);
  return { digest, bytes };
}

function problemOf(error: unknown, target: string): string {
  if (error instanceof OperationalError) return error.message;
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "ENOENT" ? `${target} does not exist` : `${target} cannot be read (${code})`;
}
