/**
 * The journal behind its ports: writer, reader, snapshot store and leadership (`ports.ts`). No code outside this
 * package knows how the journal is stored. The code that assembles the control plane chooses an implementation
 * (`sqlite-journal.ts`).
 */
export * from "./ports.ts";
export type { EventFormat, EventPage } from "./event-page.ts";
export { eventsOf, framePage } from "./event-page.ts";
export { copyJournal, describeJournal, journalFormat } from "./copy-journal.ts";
export type { CopiedJournal } from "./copy-journal.ts";
export { lockJournal } from "./lock-journal.ts";
export { openRecorded } from "./recorded-journal.ts";
export type { RecordedJournal } from "./recorded-journal.ts";
export { olderThan as journalOlderThan } from "./restore.ts";
export { sqliteAddress, sqliteJournal } from "./sqlite-journal.ts";
export type { SqliteOptions } from "./sqlite-options.ts";
