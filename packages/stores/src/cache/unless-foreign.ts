/** Tells what is no file of the cache from a file that cannot be read at the moment. */
import type { HeldDirectory } from "@headroom/platform";

/** Bytes of a lease or record: 16,000 keys. Jobs of this user can write larger files. */
const BYTES_MAX = 1024 * 1024;

/** Errors that may pass: of this process, of the machine, and of a file system that does not answer. */
const passing: readonly (string | undefined)[] = [
  "EMFILE",
  "ENFILE",
  "ENOMEM",
  "EIO",
  "ESTALE",
  "ETIMEDOUT",
  "ENOTCONN",
];

/**
 * `null`: what was read is no lease or record of the cache, or is there no more. Errors that may pass are thrown: attempts that run need
 * what the file system does not give at the moment.
 */
function unlessForeign(error: NodeJS.ErrnoException): null {
  if (!mayPass(error)) return null;
  throw error;
}

export const mayPass = ({ code }: NodeJS.ErrnoException): boolean => passing.includes(code);

/** A lease or record; `null`: something else, such as a link, a pipe or a larger file, has the name. */
export const readSmall = (dir: HeldDirectory, name: string): Promise<string | null> =>
  dir.read(name, BYTES_MAX).catch(unlessForeign);
