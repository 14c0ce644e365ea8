/**
 * A failure of the environment (disk, socket, process table, another process). It is neither an outcome (a value) nor a
 * bug (`InvariantError`). `message` is written for the person who has to act: what happened, where, and what to do.
 */
export class OperationalError extends Error {
  override readonly name = "OperationalError";
  /** Code in camelCase, like the problem codes of the API (`problemKinds` of the protocol). */
  readonly code: string;
  /** True: the same call may succeed later without any action. */
  readonly retryable: boolean;

  constructor(code: string, message: string, options: { readonly retryable?: boolean; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
