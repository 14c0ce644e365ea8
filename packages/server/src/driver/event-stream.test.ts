import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { framePage } from "@headroom/journal";
import type { EventFormat, EventPage, Journal } from "@headroom/journal";
import { EventFeed } from "./event-feed.ts";
import { EventPages, piecesFrom } from "./event-pages.ts";
import { openHome, removeDirectory, temporaryDirectory } from "./testing/bench-home.ts";
import type { OpenHome } from "./testing/bench-home.ts";
import { submit, testSpec } from "./testing/requests.ts";

const EVENTS = 3_000;
const READERS = 32;
let home: string;
let open: OpenHome[];

async function opened(): Promise<OpenHome> {
  const result = await openHome(home);
  open.push(result);
  return result;
}

async function submitMany({ driver }: OpenHome, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1_000) {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => driver.command(submit(testSpec(`w${done + index}`)))),
    );
  }
}

/** Number of turns of the event loop that other jobs get while `work` runs. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return turns;
}

async function sequencesOf({ driver }: OpenHome, format: EventFormat, from: number, until: number): Promise<number[]> {
  const abort = new AbortController();
  const sequences: number[] = [];
  for await (const piece of driver.eventFrames(from, format, abort.signal)) {
    const text = Buffer.from(piece).toString();
    expect(text.endsWith("\n")).toBe(true);
    for (const [, sequence] of text.matchAll(/\{"sequence":(\d+),"event":\{.*\}\}$/gm))
      sequences.push(Number(sequence));
    if (sequences.at(-1) === until) abort.abort();
  }
  return sequences;
}

beforeEach(() => {
  home = temporaryDirectory();
  open = [];
});
afterEach(async () => {
  for (const each of open) await each.close();
  removeDirectory(home);
});

describe("readers that catch up together", () => {
  const all = Array.from({ length: EVENTS }, (_, index) => index + 1);

  it("leave the event loop to others while they go through events that are in memory", async () => {
    const first = await opened();
    await submitMany(first, EVENTS);
    const read = async (): Promise<void> => {
      const abort = new AbortController();
      for await (const { sequence } of first.driver.events(1, abort.signal)) if (sequence === EVENTS) abort.abort();
    };
    expect(await turnsDuring(() => Promise.all(Array.from({ length: READERS }, read)))).toBeGreaterThan(3);
  });

  it.each(["ndjson", "sse"] as const)("get every event once and in order as %s, live and recorded", async (format) => {
    const first = await opened();
    await submitMany(first, EVENTS);
    const starts = Array.from({ length: READERS }, (_, index) => index * 7 + 1);
    const live = await Promise.all(starts.map((from) => sequencesOf(first, format, from, EVENTS)));
    expect(live).toEqual(starts.map((from) => all.slice(from - 1)));
    await first.close();
    // After a restart the event feed has no events in memory.
    const second = await opened();
    const recorded = await Promise.all(starts.map((from) => sequencesOf(second, format, from, EVENTS)));
    expect(recorded).toEqual(live);
  });

  it("share every page: it is read once, and an event in memory becomes bytes once", async () => {
    const pageEvents = 100;
    let madeCount = 0;
    /** An event that counts how often it becomes JSON. */
    const event = { kind: "nodeReturned", toJSON: () => ({ kind: "nodeReturned", made: ++madeCount }) };
    const events = (count: number): never[] => Array.from({ length: count }, () => event as never);
    const reads: number[] = [];
    const readPage = async (sequence: number, format: EventFormat): Promise<EventPage> => {
      reads.push(sequence);
      await new Promise(setImmediate);
      return framePage(sequence, events(pageEvents), format);
    };
    const feed = new EventFeed({ readPage } as Partial<Journal> as Journal, EVENTS);
    feed.publish(EVENTS + 1, events(EVENTS));
    const readAll = async (): Promise<number> => {
      const abort = new AbortController();
      let count = 0;
      for await (const piece of feed.frames(1, "ndjson", abort.signal)) {
        count += Buffer.from(piece).toString().split("\n").length - 1;
        if (count === 2 * EVENTS) abort.abort();
      }
      return count;
    };
    const counts = await Promise.all(Array.from({ length: READERS }, readAll));
    expect(new Set(counts)).toEqual(new Set([2 * EVENTS]));
    expect(reads).toEqual(Array.from({ length: EVENTS / pageEvents }, (_, index) => index * pageEvents + 1));
    expect(madeCount).toBe(2 * EVENTS);
  });

  it("end when the driver closes", async () => {
    const { driver } = await opened();
    await driver.command(submit(testSpec("one")));
    const frames = driver.eventFrames(2, "ndjson", new AbortController().signal)[Symbol.asyncIterator]();
    const next = frames.next();
    await driver.close();
    expect(await next).toMatchObject({ done: true });
  });
});

describe("pages", () => {
  const page = (firstSequence: number, count: number): EventPage => {
    const events = Array.from({ length: count }, (_, index) => ({ kind: "nodeLeft", nodeId: "ü".repeat(index * 10) }));
    return framePage(firstSequence, events as never, "ndjson");
  };

  it("are read once for all readers that ask for them, also while they are being read", async () => {
    const reads: number[] = [];
    const pages = new EventPages(async (sequence) => {
      reads.push(sequence);
      await new Promise(setImmediate);
      return page(sequence, 100);
    });
    const read = async (): Promise<void> => {
      for (let next = 1; next < 1_000;) {
        const found = pages.kept(next, "ndjson") ?? (await pages.load(next, "ndjson"));
        next = found.firstSequence + found.ends.length;
      }
    };
    await Promise.all(Array.from({ length: READERS }, read));
    expect(reads).toEqual([1, 101, 201, 301, 401, 501, 601, 701, 801, 901]);
  });

  it("are kept in a bounded number, the newest ones, and by format", async () => {
    const pages = new EventPages((sequence) => Promise.resolve(page(sequence, 1)));
    for (let sequence = 1; sequence <= 1_000; sequence++) await pages.load(sequence, "ndjson");
    const kept = Array.from({ length: 1_000 }, (_, index) => pages.kept(index + 1, "ndjson")).filter(Boolean);
    expect(kept.length).toBe(64);
    expect(pages.kept(1_000, "ndjson")).not.toBeNull();
    expect(pages.kept(1_000, "sse")).toBeNull();
  });

  it("are forgotten when reading them failed, so that the next reader tries again", async () => {
    let isBroken = true;
    const pages = new EventPages((sequence) =>
      isBroken ? Promise.reject(new Error("disk")) : Promise.resolve(page(sequence, 1)),
    );
    await expect(pages.load(1, "ndjson")).rejects.toThrow("disk");
    isBroken = false;
    expect((await pages.load(1, "ndjson")).firstSequence).toBe(1);
  });

  it("are cut into whole events of bounded size, from any event on", () => {
    const whole = page(11, 50);
    for (const from of [11, 12, 37, 60]) {
      const pieces = [...piecesFrom(whole, from, 1_000)];
      const text = Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
      const sequences = text
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { sequence: number }).sequence);
      expect(sequences).toEqual(Array.from({ length: 61 - from }, (_, index) => from + index));
      expect(pieces.at(-1)?.nextSequence).toBe(61);
      for (const { bytes } of pieces) {
        const lines = Buffer.from(bytes).toString().trimEnd().split("\n").length;
        expect(bytes.length <= 1_000 || lines === 1).toBe(true);
      }
    }
  });
});
