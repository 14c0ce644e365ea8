/** The end of a control plane that cannot go on. */
/** Time in ms for answers to requests in flight to reach their sockets. No decisions are made in this time. */
const LAST_ANSWERS_MS = 1_000;

/** Ends the process with the reason, when answers in flight have reached their sockets. */
export function exitSoon(error: Error): void {
  process.stderr.write(`The control plane ends: ${error.message}\n`);
  setTimeout(() => process.exit(1), LAST_ANSWERS_MS);
}
