/** Paths of artifacts, checked before they become paths of files. */
import { invalid } from "./mlflow-error.ts";

const SEGMENTS_MAX = 32;
const SEGMENT_BYTES_MAX = 255;
const PATH_CHARS_MAX = 1_000;
/** Folder for uploads that are not complete. Clients cannot name it. */
export const UPLOADS_FOLDER = ".uploads";

/** The segments of a path below the root; an empty path is the root. */
export function artifactSegments(text: string): readonly string[] {
  if (text.length > PATH_CHARS_MAX) throw invalid(`An artifact's path has at most ${PATH_CHARS_MAX} characters.`);
  const segments = text === "" ? [] : text.split("/");
  if (segments.at(-1) === "") segments.pop();
  if (segments.length > SEGMENTS_MAX) throw invalid(`An artifact's path has at most ${SEGMENTS_MAX} folders.`);
  for (const segment of segments) requireName(segment);
  if (segments[0] === UPLOADS_FOLDER) throw invalid(`The folder ${UPLOADS_FOLDER} is the control plane's own.`);
  return segments;
}

function requireName(segment: string): void {
  const isPlain = (name: string): boolean =>
    name !== "" && name !== "." && name !== ".." && !/[/\\\p{Cc}]/u.test(name) && name.isWellFormed();
  if (!isPlain(segment) || !isPlain(decoded(segment)))
    throw invalid("Invalid artifact path: '.', '..', empty names, backslashes and control characters are refused.");
  if (Buffer.byteLength(segment) > SEGMENT_BYTES_MAX)
    throw invalid(`A name in an artifact's path has at most ${SEGMENT_BYTES_MAX} bytes.`);
}

/** A name that is percent-encoded twice hides what it means from the first check. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Path below the root for a location that the control plane stores; `null`: it is in another store. */
export function proxiedPath(uri: string): string | null {
  const path = /^mlflow-artifacts:\/(?!\/)(.*)$/s.exec(uri)?.[1];
  return path ?? null;
}
