/** A pool with slots, in virtual time: shares by work, batches on idle slots, and what bounds the queue. */
import { describe, expect, it } from "vitest";
import { FairQueue, type FairRequest, type FairTurn } from "./fair-queue.ts";
import type { Priority } from "./priority.ts";
import type { WorkTokens } from "./shares.ts";

interface Sent {
  readonly team: string;
  readonly weight?: number;
  readonly isBatch?: boolean;
  readonly priority?: Priority;
  readonly tokens: WorkTokens;
}

/** An engine in which an output token takes a step, and prompts none. */
class Engine {
  readonly queue: FairQueue;
  readonly work = new Map<string, number>();
  readonly #running = new Map<FairTurn, { left: number; readonly sent: Sent }>();
  readonly starts: string[] = [];
  readonly displaced: string[] = [];

  constructor(slots: number, waitingMax = 100_000) {
    this.queue = new FairQueue(() => ({ slots, waitingMax, waitingBytesMax: 1e9 }));
  }

  send(sent: Sent): boolean {
    const { team, weight = 1, isBatch = false, priority = "normal", tokens } = sent;
    const begin = (turn: FairTurn): void => {
      this.starts.push(team);
      this.#running.set(turn, { left: tokens.outputTokens, sent });
    };
    const own: { turn?: FairTurn | undefined } = {};
    const { promptTokens } = tokens;
    const request: FairRequest = {
      team,
      weight,
      isBatch,
      priority,
      promptTokens,
      outputMax: 1000,
      bytes: 1,
      start: () => own.turn !== undefined && begin(own.turn),
      giveWay: () => own.turn !== undefined && this.#running.delete(own.turn),
      displaced: () => this.displaced.push(team),
    };
    own.turn = this.queue.take(request);
    if (own.turn?.state === "running") begin(own.turn);
    return own.turn !== undefined;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  step(): void {
    for (const [turn, running] of this.#running) {
      if (--running.left > 0) continue;
      this.#running.delete(turn);
      const { team, tokens } = running.sent;
      this.work.set(team, (this.work.get(team) ?? 0) + tokens.promptTokens + 2 * tokens.outputTokens);
      turn.end(tokens);
    }
  }
}

const share = (work: ReadonlyMap<string, number>, team: string): number =>
  (work.get(team) ?? 0) / [...work.values()].reduce((sum, each) => sum + each, 0);

describe("the queue of a pool", () => {
  it("gives two teams half of the work each, whatever they send and however long their answers are", () => {
    const engine = new Engine(8);
    for (let step = 0; step < 20_000; step++) {
      // Team `much` sends ten times the requests, and its answers are six times as long.
      if (step % 4 === 0)
        for (let count = 0; count < 10; count++)
          engine.send({ team: "much", tokens: { promptTokens: 50, outputTokens: 60 + (step % 7) } });
      if (step % 4 === 0) engine.send({ team: "little", tokens: { promptTokens: 20, outputTokens: 10 } });
      if (step % 4 === 0) engine.send({ team: "little", tokens: { promptTokens: 20, outputTokens: 30 } });
      engine.step();
    }
    expect(share(engine.work, "little")).toBeGreaterThan(0.49);
    expect(share(engine.work, "little")).toBeLessThan(0.51);
  });

  it("follows weights", () => {
    const engine = new Engine(4);
    for (let step = 0; step < 8_000; step++) {
      engine.send({ team: "three", weight: 3, tokens: { promptTokens: 10, outputTokens: 12 } });
      engine.send({ team: "one", tokens: { promptTokens: 10, outputTokens: 25 } });
      engine.step();
    }
    expect(share(engine.work, "three")).toBeCloseTo(0.75, 1);
  });

  it("gives a team that comes back no claim on the time before, and lets a lone team have everything", () => {
    const engine = new Engine(2);
    const request = (team: string): Sent => ({ team, tokens: { promptTokens: 10, outputTokens: 5 } });
    for (let step = 0; step < 2_000; step++) {
      engine.send(request("early"));
      engine.step();
    }
    const before = engine.starts.length;
    expect(share(engine.work, "early")).toBe(1);
    for (let count = 0; count < 40; count++) engine.send(request("late"));
    for (let step = 0; step < 60; step++) engine.step();
    const since = engine.starts.slice(before);
    const late = since.filter((team) => team === "late").length;
    expect(late / since.length).toBeGreaterThan(0.4);
    expect(late / since.length).toBeLessThan(0.6);
  });

  it("serves the highest priority first, and teams within a priority by their work in all priorities", () => {
    const engine = new Engine(1);
    const tokens = { promptTokens: 1, outputTokens: 10 };
    engine.send({ team: "busy", tokens });
    const sent: [string, Priority][] = [
      ["idle", "low"],
      ["busy", "normal"],
      ["idle", "normal"],
      ["busy", "high"],
      ["idle", "normal"],
      ["other", "high"],
    ];
    for (const [team, priority] of sent) engine.send({ team, priority, tokens });
    expect(["low", "normal", "high"].map((each) => engine.queue.waitingAt(each as Priority))).toEqual([1, 3, 2]);
    for (let step = 0; step < 70; step++) engine.step();
    // `other` had no work before `busy`, and `idle` none when the normal requests came to their turn.
    expect(engine.starts).toEqual(["busy", "other", "busy", "idle", "idle", "busy", "idle"]);
  });

  it("makes room in a full queue for a higher priority, from the team that has the most waiting", async () => {
    const engine = new Engine(1, 3);
    const tokens = { promptTokens: 1, outputTokens: 5 };
    const send = (team: string, priority: Priority): boolean => engine.send({ team, priority, tokens });
    for (const team of ["running", "few", "many", "many"]) expect(send(team, "low")).toBe(true);
    expect(send("other", "low")).toBe(false);
    expect([send("other", "high"), send("other", "normal"), send("other", "normal")]).toEqual([true, true, true]);
    expect([send("other", "normal"), send("other", "high"), send("other", "low")]).toEqual([false, true, false]);
    await Promise.resolve();
    expect(engine.displaced).toEqual(["many", "few", "many", "other"]);
    expect([engine.queue.waitingCount, engine.queue.displacedCount]).toEqual([3, 4]);
    for (let step = 0; step < 30; step++) engine.step();
    expect(engine.starts).toEqual(["running", "other", "other", "other"]);
  });

  it("lets lines of batches run in idle slots only, and takes a slot back in one step", () => {
    const engine = new Engine(4);
    for (let count = 0; count < 6; count++)
      engine.send({ team: "batch", isBatch: true, tokens: { promptTokens: 10, outputTokens: 100 } });
    expect([engine.queue.runningLineCount, engine.queue.waitingLineCount]).toEqual([4, 2]);
    engine.send({ team: "chat", tokens: { promptTokens: 10, outputTokens: 3 } });
    expect([engine.queue.runningLineCount, engine.queue.waitingLineCount, engine.queue.yieldCount]).toEqual([3, 3, 1]);
    expect(engine.queue.waitingCount).toBe(0);
    for (let step = 0; step < 3; step++) engine.step();
    expect([engine.queue.runningLineCount, engine.queue.waitingLineCount]).toEqual([4, 2]);
    for (let count = 0; count < 5; count++) engine.send({ team: "chat", tokens: { promptTokens: 1, outputTokens: 9 } });
    expect([engine.queue.runningLineCount, engine.queue.waitingCount]).toEqual([0, 1]);
    expect(engine.queue.runningCount).toBe(4);
  });

  it("keeps one of 16 slots free of lines, so that a request need not wait until one has stopped", () => {
    const engine = new Engine(32);
    const long = { promptTokens: 1, outputTokens: 1000 };
    for (let line = 0; line < 40; line++) engine.send({ team: "nightly", isBatch: true, tokens: long });
    expect(engine.runningCount).toBe(30);
    for (let at = 0; at < 2; at++) engine.send({ team: "a", tokens: { promptTokens: 1, outputTokens: 1 } });
    expect([engine.runningCount, engine.queue.yieldCount]).toEqual([32, 0]);
    engine.step();
    expect(engine.runningCount).toBe(30);
    engine.send({ team: "a", tokens: long });
    engine.send({ team: "a", tokens: long });
    engine.send({ team: "a", tokens: long });
    expect([engine.runningCount, engine.queue.yieldCount]).toEqual([32, 1]);
  });

  it("displaces nothing for a request that does not fit by its bytes even so", () => {
    const queue = new FairQueue(() => ({ slots: 1, waitingMax: 10, waitingBytesMax: 100 }));
    const left: string[] = [];
    const take = (priority: "low" | "normal" | "high", bytes: number): boolean =>
      queue.take({
        team: priority,
        weight: 1,
        isBatch: false,
        priority,
        promptTokens: 1,
        outputMax: 1,
        bytes,
        start: () => undefined,
        giveWay: () => false,
        displaced: () => left.push(priority),
      }) !== undefined;
    expect([take("normal", 1), take("low", 20), take("normal", 60)]).toEqual([true, true, true]);
    expect([take("normal", 50), queue.waitingAt("low"), queue.displacedCount]).toEqual([false, 1, 0]);
    expect([take("normal", 40), queue.waitingAt("low"), queue.displacedCount]).toEqual([true, 0, 1]);
  });

  it("starts the lines that wait when a pool loses its bounds", () => {
    let slots = 1;
    const queue = new FairQueue(() => ({ slots, waitingMax: 10, waitingBytesMax: 100 }));
    let started = 0;
    const line = {
      team: "a",
      weight: 1,
      isBatch: true,
      priority: "normal",
      promptTokens: 1,
      outputMax: 1,
      bytes: 1,
      start: () => started++,
      giveWay: () => false,
      displaced: () => undefined,
    } as const;
    for (let at = 0; at < 3; at++) queue.take(line);
    slots = Number.POSITIVE_INFINITY;
    queue.pump();
    expect([started, queue.runningCount, queue.waitingLineCount]).toEqual([2, 3, 0]);
  });

  it("refuses requests beyond its bounds, and forgets those that leave", () => {
    const engine = new Engine(1, 2);
    const request = { team: "a", tokens: { promptTokens: 1, outputTokens: 2 } };
    expect([1, 2, 3, 4].map(() => engine.send(request))).toEqual([true, true, true, false]);
    const leaver = engine.queue.take({
      team: "b",
      weight: 1,
      isBatch: true,
      priority: "normal",
      promptTokens: 1,
      outputMax: 1,
      bytes: 1,
      start: () => expect.unreachable("it left"),
      giveWay: () => false,
      displaced: () => expect.unreachable("it is a line"),
    });
    leaver?.end(undefined);
    leaver?.end(undefined);
    for (let step = 0; step < 10; step++) engine.step();
    expect([engine.queue.runningCount, engine.queue.waitingCount, engine.queue.waitingLineCount]).toEqual([0, 0, 0]);
  });
});
