import { framePage } from "@headroom/journal";
import type {
  Append,
  AppendReceipt,
  EventFormat,
  EventPage,
  Journal,
  JournalAddress,
  MentionPage,
  SnapshotReceipt,
} from "@headroom/journal";

/** A journal that acknowledges at once and stores nothing: it shows the cost of a request without durability. */
export class StubbedJournal implements Journal {
  readonly journalId = "stubbed";
  readonly place = "nowhere";
  readonly address: JournalAddress = { kind: "sqlite", place: "/nowhere" };
  readonly leadership = { epoch: 1 };

  append(_append: Append): Promise<AppendReceipt> {
    return Promise.resolve({ syncMs: 0, journalBytes: 0 });
  }

  readGroups(): Promise<never[]> {
    return Promise.resolve([]);
  }

  readMentions(): Promise<MentionPage> {
    return Promise.resolve({ groups: [], nextSequence: null });
  }

  readPage(fromSequence: number, format: EventFormat): Promise<EventPage> {
    return Promise.resolve(framePage(fromSequence, [], format));
  }

  snapshotInBackground(): Promise<never> {
    return Promise.reject(new Error("there is nothing to make a snapshot of"));
  }

  writeSnapshot(sequence: number): Promise<SnapshotReceipt> {
    return Promise.resolve({ sequence, bytes: 0, elapsedMs: 0 });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
