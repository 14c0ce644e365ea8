import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { LeasedLimits } from "./leases.ts";
import { LimitLedger, type LimitDefinition } from "./ledger.ts";
import { LocalLimits, Reservation, reserve, type TakeOutcome } from "./account.ts";
import { SlidingWindow } from "./window.ts";
import type { CountedUse } from "./wire.ts";

const requests = (limit: number): LimitDefinition => ({ id: "requests:a", kind: "requests", limit });

describe("a sliding window", () => {
  it("never admits more than its limit in any minute, and at least 98% of it where more is asked", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 50, max: 2000 }),
        fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 400 }),
        (limit, gaps) => {
          const ledger = new LimitLedger();
          const admitted: number[] = [];
          let nowMs = 1e12;
          for (const gapMs of [...gaps, 0, 0, 0]) {
            nowMs += gapMs;
            for (let each = 0; each < 10; each++) {
              if (ledger.grant(requests(limit), { need: 1, want: 1, sharers: 1 }, nowMs).kind === "granted")
                admitted.push(nowMs);
            }
          }
          for (const [from, startMs] of admitted.entries()) {
            let to = from;
            while (to < admitted.length && admitted[to]! < startMs + 60_000) to++;
            expect(to - from).toBeLessThanOrEqual(limit);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("gives back what was not used, and nothing twice", () => {
    const window = new SlidingWindow();
    const slot = window.add(100, 1e12);
    window.refund(slot, 60, 1e12 + 100);
    expect(window.used(1e12 + 200)).toBe(40);
    window.refund(slot, 60, 1e12 + 300);
    expect(window.used(1e12 + 400)).toBe(0);
    window.add(10, 1e12 + 61_000);
    window.refund(slot, 10, 1e12 + 61_000);
    expect(window.used(1e12 + 61_000)).toBe(10);
  });

  it("says when there will be room", () => {
    const window = new SlidingWindow();
    window.add(5, 1e12);
    window.add(5, 1e12 + 30_000);
    const freeAtMs = window.freeAtMs(3, 10, 1e12 + 31_000);
    expect(window.used(freeAtMs - 1)).toBe(10);
    expect(window.used(freeAtMs)).toBe(5);
  });
});

describe("a reservation", () => {
  it("grows with a request that uses more, and settles to what it used", () => {
    const ledger = new LimitLedger();
    const definition: LimitDefinition = { id: "tokens:a", kind: "tokens", limit: 1000 };
    const source = new LocalLimits(ledger, () => 1e12);
    const limits = { requests: undefined, tokens: definition, money: undefined };
    reserve(source, limits, { tokens: 100, nanoUsd: 0 }, (outcome) => {
      if (!(outcome instanceof Reservation)) throw new Error("denied");
      outcome.advance({ tokens: 50, nanoUsd: 0 });
      expect(ledger.used(definition, 1e12)).toBe(100);
      outcome.advance({ tokens: 400, nanoUsd: 0 });
      outcome.advance({ tokens: 900, nanoUsd: 0 });
      expect(ledger.used(definition, 1e12)).toBe(900);
      outcome.settle({ tokens: 850, nanoUsd: 0 });
    });
    expect(ledger.used(definition, 1e12)).toBe(850);
  });
});

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function members(
  count: number,
  port: number,
  { name = "g", spent = [] }: { readonly name?: string; readonly spent?: readonly CountedUse[] } = {},
): Promise<LeasedLimits[]> {
  const all: LeasedLimits[] = [];
  for (let at = 0; at < count; at++) {
    const limits = new LeasedLimits({
      address: { host: "127.0.0.1", port },
      secret: "s",
      member: `${name}${at}`,
      life: 1,
      spent,
      now: () => performance.timeOrigin + performance.now(),
      log: () => undefined,
    });
    closers.push(() => limits.close());
    await limits.start();
    all.push(limits);
  }
  return all;
}

const take = (limits: LeasedLimits, definition: LimitDefinition, amount: number): Promise<TakeOutcome> =>
  new Promise((resolve) => limits.take(definition, amount, resolve));

async function taken(all: readonly LeasedLimits[], definition: LimitDefinition, each: number): Promise<number> {
  let sum = 0;
  await Promise.all(
    all.map(async (limits, at) => {
      for (let count = 0; count < each; count++) {
        const outcome = await take(limits, definition, 1);
        if (outcome.kind === "taken") sum += outcome.amount;
        if (count % 50 === at) await new Promise((resolve) => setImmediate(resolve));
      }
    }),
  );
  return sum;
}

describe("limits over four gateways", () => {
  it("add up to the limit: not one more, and all of it", async () => {
    const all = await members(4, await freePort());
    const definition = requests(1000);
    expect(await taken(all, definition, 1500)).toBeLessThanOrEqual(1000);
    // Within half a second the unused parts of another gateway's lease are returned.
    let total = 0;
    await expect
      .poll(async () => {
        total += await taken(all, definition, 50);
        const probe = await take(all[0]!, definition, 1);
        total += probe.kind === "taken" ? probe.amount : 0;
        return probe.kind;
      })
      .toBe("denied");
    expect(total).toBeLessThanOrEqual(1000);
  });

  it("go on when the gateway that holds them ends, and the new holder knows what was used", async () => {
    const port = await freePort();
    const all = await members(4, port);
    const definition = requests(400);
    const before = await taken(all.slice(1), definition, 60);
    expect(before).toBe(180);
    all[0]!.close();
    const rest = all.slice(1);
    await expect.poll(async () => (await take(rest[0]!, definition, 1)).kind).toBe("taken");
    await new Promise((resolve) => setTimeout(resolve, 600));
    const after = await taken(rest, definition, 500);
    expect(before + after).toBeLessThanOrEqual(404);
  });

  it("keep to a share when the gateway that holds them hangs", async () => {
    const port = await freePort();
    // A coordinator that sends `welcome` to its members and then never answers.
    const hung = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.write('{"t":"welcome","ledger":"x","members":2}\n'));
    });
    await new Promise<void>((resolve) => hung.listen(port, "127.0.0.1", resolve));
    const sockets = new Set<Socket>();
    hung.on("connection", (socket) => sockets.add(socket));
    closers.push(() => {
      for (const socket of sockets) socket.destroy();
      hung.close();
    });
    const [limits] = await members(1, port);
    expect((await take(limits!, requests(10), 1)).kind).toBe("taken");
  });

  it("survive members that send anything", async () => {
    const port = await freePort();
    const [holder] = await members(1, port);
    const definition = requests(5);
    const hello = { t: "hello", secret: "s", member: "evil", life: 1, ledger: "" };
    const used = { t: "used", used: [] };
    for (const messages of [
      [used],
      [hello, { t: "used" }],
      [hello, { t: "used", used: [{}] }],
      [hello, { t: "used", used: [{ definition, ages: [[0, "x"]] }] }],
      [hello, { t: "charge", definition, amount: 1 }],
      [hello, used, used],
      [hello, used, hello],
      [hello, used, { t: "give", definition, slot: null, amount: 1 }],
      [hello, used, { t: "ask", n: 1, definition: null, need: 1, want: 1 }],
      [hello, used, { t: "charge", definition: { ...definition, kind: "wishes" }, amount: 1 }],
      // The line after an invalid one has no effect.
      [hello, used, { t: "charge" }, { t: "charge", definition, amount: 5 }],
    ]) {
      const socket = connect(port, "127.0.0.1");
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => undefined);
      socket.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
      socket.resume();
      await closed;
    }
    expect(await taken([holder!], definition, 20)).toBe(5);
  });

  it("hold a few KiB of a peer before it has shown the secret", async () => {
    const port = await freePort();
    const [holder] = await members(1, port);
    for (const line of ["x".repeat(1 << 20), JSON.stringify({ t: "hello", secret: "x".repeat(1 << 14) })]) {
      const socket = connect(port, "127.0.0.1");
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => undefined);
      socket.resume();
      // The line has no end, so only its length can close the connection.
      socket.write(line);
      await closed;
    }
    expect((await take(holder!, requests(5), 1)).kind).toBe("taken");
  });

  it("take the usage of a gateway with many limits, whose report is long", async () => {
    const port = await freePort();
    const budgets = Array.from({ length: 200 }, (_, at): LimitDefinition => ({
      id: `money:team-${at}`,
      kind: "money",
      limit: 10,
      period: "month",
    }));
    await members(1, port, { spent: budgets.map((definition) => ({ definition, ages: [[0, 4]] })) });
    const [other] = await members(1, port, { name: "other" });
    expect((await take(other!, budgets[199]!, 7)).kind).toBe("denied");
    expect((await take(other!, budgets[198]!, 6)).kind).toBe("taken");
  });

  it("take a known gateway back when there are as many as there may be", async () => {
    const port = await freePort();
    await members(1, port);
    const answer = (member: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1");
        const hello = { t: "hello", secret: "s", member, life: 1, ledger: "" };
        socket.on("error", () => undefined);
        socket.once("data", (data) => {
          resolve(data.toString());
          socket.destroy();
        });
        socket.once("close", () => resolve("closed"));
        socket.write(`${JSON.stringify(hello)}\n${JSON.stringify({ t: "used", used: [] })}\n`);
      });
    for (let at = 1; at < 1024; at++) expect(await answer(`other${at}`)).toContain("welcome");
    expect(await answer("one too many")).toBe("closed");
    expect(await answer("other1")).toContain("welcome");
  });

  it("refuse a gateway that does not know the secret", async () => {
    const port = await freePort();
    const [holder] = await members(1, port);
    const stranger = new LeasedLimits({
      address: { host: "127.0.0.1", port },
      secret: "wrong",
      member: "stranger",
      life: 1,
      spent: [],
      now: () => performance.timeOrigin + performance.now(),
      log: () => undefined,
    });
    closers.push(() => stranger.close());
    void stranger.start();
    expect((await take(holder!, requests(5), 1)).kind).toBe("taken");
    expect((await take(stranger, requests(5), 1)).kind).toBe("denied");
  });
});
