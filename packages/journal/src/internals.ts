/** Exports for tests of damaged journals. */
export { checkHistory } from "./check-history.ts";
export { openForReading, openForWriting } from "./database.ts";
export { JournalReader } from "./journal-reader.ts";
export { takeLeadership } from "./schema.ts";
export { redecideJournal, verifyJournal } from "./verify-journal.ts";
