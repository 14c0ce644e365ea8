/**
 * Common base of all shells: durable files, threads and operational errors. It uses Node only and knows nothing of the
 * product. Start with `operational-error.ts` (how a shell fails), then `sync-path.ts` and `make-directory.ts`
 * (durability over a power cut). `directory-lock.ts`: one process per directory. `issue-text.ts`: messages of invalid input.
 */
export { issueText } from "./issue-text.ts";
export { lockDirectory } from "./directory-lock.ts";
export type { DirectoryLock, LockOutcome } from "./directory-lock.ts";
export { makeDirectory, makeDurableDirectory } from "./make-directory.ts";
export { makePrivateFile } from "./make-private-file.ts";
export { OperationalError } from "./operational-error.ts";
export { syncPath } from "./sync-path.ts";
export { startThread } from "./threads/start-thread.ts";
export { ThreadCalls } from "./threads/thread-calls.ts";
