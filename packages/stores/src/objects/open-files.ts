/** Where an open file really is: the last name of a path is checked when it is opened, the names above it are not. */
import { readlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";

/** False: a name above the file was a link, or the file has another name by now. `expected` has no links. */
export const isAt = async ({ fd }: FileHandle, expected: string): Promise<boolean> =>
  (await readlink(`/proc/self/fd/${fd}`)) === expected;
