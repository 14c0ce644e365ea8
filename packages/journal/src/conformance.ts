/**
 * Conformance cases for journal implementations. A case passes when its promise resolves. Each case gets an empty
 * journal.
 */
import assert from "node:assert/strict";
import type { Engine } from "@headroom/engine";
import type { Input } from "@headroom/model";
import type { Append, Journal, OpenedJournal, RecordedGroup } from "./ports.ts";

export interface JournalSubject {
  /** Opens the journal of this case. Every call opens the same journal. */
  open(): Promise<OpenedJournal>;
  /** Takes over the journal, like a second control plane that no lock has stopped. Resolves with the new epoch. */
  takeOver(): Promise<number>;
}

export interface JournalCase {
  readonly name: string;
  run(subject: JournalSubject): Promise<void>;
}

let applied = 0;

/** One decision of an engine, as the driver appends it. */
function decided(engine: Engine, { leadership }: Journal): Append & { readonly group: RecordedGroup } {
  applied += 1;
  const team = { name: `team-${applied}`, parent: null, limit: {} };
  const command = { kind: "apply", commandId: `c${applied}`, actor: "conformance", idempotencyKey: null };
  const inputs = [{ ...command, sites: [], pools: [], teams: [team], workloads: [] }] as unknown as Input[];
  const ready = engine.receive(inputs, 1_000 + applied);
  engine.advance();
  if (ready.group === null) throw new Error("the engine recorded nothing");
  const { firstSequence, count, chain, text } = ready.group;
  const group = { firstSequence, count, chain, text, atMs: ready.atMs };
  const round = { atMs: ready.atMs, firstSequence: group.firstSequence, inputs: JSON.stringify(inputs) };
  return { epoch: leadership.epoch, rounds: [round], group, digest: null };
}

const rejected = (code: string) => (error: unknown) => error instanceof Error && "code" in error && error.code === code;

export const journalCases: readonly JournalCase[] = [
  {
    name: "appended groups can be read, as groups and as pages",
    async run(subject) {
      const { journal, engine } = await subject.open();
      const appends = [decided(engine, journal), decided(engine, journal), decided(engine, journal)];
      for (const append of appends) await journal.append(append);
      assert.deepEqual(
        await journal.readGroups(1),
        appends.map(({ group }) => group),
      );
      const second = appends[1]?.group.firstSequence ?? 0;
      assert.equal((await journal.readPage(second, "ndjson")).firstSequence, second);
      await journal.close();
    },
  },
  {
    name: "groups that mention a text are found page by page, and no other groups",
    async run(subject) {
      const { journal, engine } = await subject.open();
      const appends = [decided(engine, journal), decided(engine, journal), decided(engine, journal)];
      for (const append of appends) await journal.append(append);
      const [, second, third] = appends.map(({ group }) => group);
      const name = /"(team-\d+)"/.exec(second?.text ?? "")?.[1] ?? "";
      assert.deepEqual(await journal.readMentions(1, `"${name}"`), { groups: [second], nextSequence: null });
      assert.deepEqual((await journal.readMentions(third?.firstSequence ?? 0, `"${name}"`)).groups, []);
      assert.deepEqual((await journal.readMentions(third?.firstSequence ?? 0, '"team-')).groups, [third]);
      await journal.close();
    },
  },
  {
    name: "a journal that is opened again gives the recorded state, under a higher epoch",
    async run(subject) {
      const first = await subject.open();
      await first.journal.append(decided(first.engine, first.journal));
      await first.journal.close();
      const second = await subject.open();
      assert.equal(second.engine.digest(), first.engine.digest());
      assert.equal(second.journal.journalId, first.journal.journalId);
      assert.ok(second.journal.leadership.epoch > first.journal.leadership.epoch);
      await second.journal.close();
    },
  },
  {
    name: "an append with an old epoch is rejected, and no part of it is recorded",
    async run(subject) {
      const { journal, engine } = await subject.open();
      await journal.append(decided(engine, journal));
      const before = engine.digest();
      const epoch = await subject.takeOver();
      assert.ok(epoch > journal.leadership.epoch);
      const late = decided(engine, journal);
      await assert.rejects(journal.append(late), rejected("journalEpochOld"));
      // The journal opened under the old epoch accepts no further appends.
      await assert.rejects(journal.append({ ...late, epoch }), rejected("journalEpochOld"));
      await journal.close();
      const next = await subject.open();
      assert.equal(next.engine.digest(), before);
      await next.journal.append(decided(next.engine, next.journal));
      await next.journal.close();
    },
  },
  {
    name: "an append without a group is also rejected if its epoch is old",
    async run(subject) {
      const { journal, engine } = await subject.open();
      await journal.append(decided(engine, journal));
      await subject.takeOver();
      const { sequence } = engine.state;
      const digest = { sequence, digest: engine.digest() };
      const append = { epoch: journal.leadership.epoch, rounds: [], group: null, digest };
      await assert.rejects(journal.append(append), rejected("journalEpochOld"));
      await journal.close();
    },
  },
  {
    name: "a group that does not follow the last one is rejected",
    async run(subject) {
      const { journal, engine } = await subject.open();
      const append = decided(engine, journal);
      const misplaced = { ...append.group, firstSequence: append.group.firstSequence + 1 };
      await assert.rejects(journal.append({ ...append, group: misplaced }), /begins at/);
      await journal.close();
    },
  },
  {
    name: "the next fold begins at the newest snapshot",
    async run(subject) {
      const { journal, engine } = await subject.open();
      await journal.append(decided(engine, journal));
      const made = await journal.snapshotInBackground();
      assert.equal(made.sequence, engine.state.sequence);
      await journal.append(decided(engine, journal));
      await journal.close();
      const next = await subject.open();
      assert.equal(next.snapshotSequence, made.sequence);
      assert.equal(next.engine.digest(), engine.digest());
      const { sequence, chain } = next.engine.state;
      await next.journal.writeSnapshot(sequence, chain, next.engine.digest(), next.engine.snapshot());
      await next.journal.close();
      const last = await subject.open();
      assert.equal(last.snapshotSequence, sequence);
      await last.journal.close();
    },
  },
];
