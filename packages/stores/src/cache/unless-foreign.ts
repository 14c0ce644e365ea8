/** Tells what is no file of the cache from a file that cannot be read at the moment. */

/** Errors of reading a link, a folder, a socket, or a file that is larger than every lease and record. */
const foreign: readonly (string | undefined)[] = [
  "ELOOP",
  "EISDIR",
  "ENOTDIR",
  "ENXIO",
  "ENOENT",
  "ERR_FS_FILE_TOO_LARGE",
  "ERR_STRING_TOO_LONG",
];

/**
 * `null`: what was read is no lease or record of the cache, or is there no more. Other errors are thrown: attempts that run need what
 * the file system does not give at the moment.
 */
export function unlessForeign(error: NodeJS.ErrnoException): null {
  if (foreign.includes(error.code)) return null;
  throw error;
}
