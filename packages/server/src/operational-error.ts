/** The server fails in the same way as the executors behind it: callers meet both by `code` and `retryable`. */
export { OperationalError } from "@headroom/executors";
