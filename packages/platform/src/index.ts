/**
 * Common base of all packages with I/O: durable files, threads and operational errors. It uses only Node and knows
 * nothing of the product. Start with `operational-error.ts` (how these packages fail), then `sync-path.ts` and
 * `make-directory.ts` (files that survive a power cut). `directory-lock.ts` allows one process for each directory.
 * `held-directory.ts`: files below a directory in which others exchange names. `exposure.ts`: addresses without TLS. `issue-text.ts`: messages of invalid input. `tls-files.ts`: certificates that are renewed while a server runs.
 * `page-files.ts`: built web pages. `content-digest.ts`: the digest of a file or directory; `content-stamp.ts`: whether it was written. `run-command.ts`: commands of operators and of other systems.
 */
export { comparePaths, contentDigest, contentFiles, digestOfFiles } from "./content-digest.ts";
export { contentStamp } from "./content-stamp.ts";
export { checkListening, isLoopback } from "./exposure.ts";
export { HeldDirectory, holdParent, writePrivateFile } from "./held-directory.ts";
export { issueText } from "./issue-text.ts";
export { lockDirectory } from "./directory-lock.ts";
export type { DirectoryLock, LockOutcome } from "./directory-lock.ts";
export { makeDirectory, makeDurableDirectory } from "./make-directory.ts";
export { makePrivateFile } from "./make-private-file.ts";
export { OperationalError } from "./operational-error.ts";
export { loadPageFiles, pageHeaders } from "./page-files.ts";
export type { PageFile } from "./page-files.ts";
export { runCommand } from "./run-command.ts";
export type { CommandOutput } from "./run-command.ts";
export { unlessAborted } from "./unless-aborted.ts";
export { syncPath } from "./sync-path.ts";
export { readTlsFiles, renewTls, TLS_VERSION_MIN } from "./tls-files.ts";
export type { TlsFiles, TlsPair } from "./tls-files.ts";
export { startThread } from "./threads/start-thread.ts";
export { ThreadCalls, isOutOfMemory } from "./threads/thread-calls.ts";
