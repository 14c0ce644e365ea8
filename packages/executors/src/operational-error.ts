/** A failure of the world around (disk, process table, a missing attempt) that the caller meets with a stated policy. */
export class OperationalError extends Error {
  override readonly name = "OperationalError";
  readonly code: "unknownAttempt" | "attemptActive" | "unsupportedPlatform" | "unusableDirectory";
  readonly retryable: boolean;

  constructor(
    code: OperationalError["code"],
    message: string,
    details: { readonly retryable: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.retryable = details.retryable;
  }
}
