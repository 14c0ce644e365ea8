/** Bounds of headers, above those of every published model, and the error for a header beyond them. */

/** The file is damaged, cut, hostile, or of a format that is not read. The message says where. */
export class ModelFileError extends Error {
  override readonly name = "ModelFileError";
}

export const TENSORS_MAX = 1_000_000;
export const NAME_BYTES_MAX = 4_096;
export const DIMENSIONS_MAX = 16;
/** Characters of a metadata value that are kept; a chat template has some thousands. */
export const VALUE_KEPT_MAX = 4_096;

export function refuse(problem: string): never {
  throw new ModelFileError(problem);
}

/** The number of elements; a shape without dimensions has one. */
export function elementCount(shape: readonly number[], tensor: string): number {
  let count = 1;
  // A dimension of 0 makes the product 0, whatever the others are.
  if (shape.includes(0)) return 0;
  for (const size of shape) {
    count *= size;
    if (!Number.isSafeInteger(count))
      refuse(`tensor ${quoted(tensor)}: its shape ${shapeText(shape)} has too many elements`);
  }
  return count;
}

const shapeText = (shape: readonly number[]): string => `[${shape.join(", ")}]`;

const QUOTED_MAX = 80;
export const quoted = (text: string): string => {
  const short = text.length <= QUOTED_MAX ? text : `${text.slice(0, QUOTED_MAX)}…`;
  return JSON.stringify(short);
};

/** Names become paths and keys elsewhere, so a name that leaves its folder is refused here. */
export function checkName(name: string, what: string): void {
  if (name === "") refuse(`${what}: has an empty name`);
  if (name.length > NAME_BYTES_MAX) refuse(`${what}: its name is longer than ${NAME_BYTES_MAX}`);
  if (name.split(/[/\\]/).includes("..")) refuse(`${what} ${quoted(name)}: its name has "..", which leaves the folder`);
  // oxlint-disable-next-line no-control-regex -- they are what this refuses.
  if (/[\u0000-\u001f\u007f]/.test(name)) refuse(`${what} ${quoted(name)}: its name has control characters`);
}

/** A file beside the model file: a plain relative path. */
export function checkLocation(location: string, what: string): void {
  checkName(location, what);
  if (/^(?:[/\\]|[A-Za-z]:)/.test(location) || location.includes("\\"))
    refuse(`${what} ${quoted(location)}: expected a path relative to the model file`);
}

export interface Extent {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Refuses extents that overlap. Returns them by start. */
export function checkDisjoint(extents: readonly Extent[]): readonly Extent[] {
  const sorted = extents.toSorted((left, right) => left.start - right.start || left.end - right.end);
  let before: Extent | null = null;
  for (const extent of sorted) {
    if (before !== null && extent.start < before.end)
      refuse(`tensors ${quoted(before.name)} and ${quoted(extent.name)} overlap at byte ${extent.start} of the data`);
    if (extent.end > extent.start) before = extent;
  }
  return sorted;
}
