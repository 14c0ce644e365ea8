import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { LeasedLimits } from "./leases.ts";
import { LedgerFile } from "./ledger-file.ts";
import type { LimitDefinition } from "./ledger.ts";
import type { TakeOutcome } from "./account.ts";
import { SharedLedger } from "./shared-ledger.ts";
import { freePort } from "../testing/free-port.ts";
import { proofOf, readLines, type CountedUse, type LedgerMessage } from "./wire.ts";

const requests = (limit: number): LimitDefinition => ({ id: "requests:a", kind: "requests", limit });

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A folder for the ledger, in which the holders of one group follow one another. */
function folder(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-limits-"));
  closers.push(() => rmSync(directory, { recursive: true }));
  return directory;
}

const clock = (): number => performance.timeOrigin + performance.now();

interface MemberOptions {
  readonly name?: string;
  readonly spent?: readonly CountedUse[];
  readonly directory?: string;
  readonly secret?: string;
}

function member(port: number, options: MemberOptions): LeasedLimits {
  const { name = "g", spent = [], directory, secret = "s" } = options;
  const address = { host: "127.0.0.1", port };
  const log = (): void => undefined;
  const limits = new LeasedLimits({ address, secret, member: name, life: 1, directory, spent, now: clock, log });
  closers.unshift(() => limits.close());
  return limits;
}

async function members(count: number, port: number, options: MemberOptions = {}): Promise<LeasedLimits[]> {
  const all: LeasedLimits[] = [];
  for (let at = 0; at < count; at++) {
    const limits = member(port, { ...options, name: `${options.name ?? "g"}${at}` });
    await limits.start();
    all.push(limits);
  }
  return all;
}

/** A peer on a bare socket. It answers the coordinator's challenge, sends the messages, and waits for the end. */
function peer(port: number, name: string, messages: readonly object[]): Promise<"welcome" | "closed"> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let isWelcome = false;
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(isWelcome ? "welcome" : "closed"));
    readLines(socket, (line) => {
      const message = line as LedgerMessage;
      if (message.t === "challenge") {
        const hello = {
          t: "hello",
          proof: proofOf("s", message.nonce, name, 1),
          nonce: "n",
          member: name,
          life: 1,
          ledger: "",
        };
        const lines = messages.map((each) => ("t" in each && each.t === "hello" ? { ...hello, ...each } : each));
        socket.write(lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
      }
      if (message.t === "welcome") {
        isWelcome = true;
        if (messages.length === 2) socket.destroy();
      }
    });
  });
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

  it("go on when the gateway that holds them ends, and the new holder knows what all of them used", async () => {
    const port = await freePort();
    const all = await members(4, port, { directory: folder() });
    const definition = requests(400);
    // The gateway that ends has used most itself.
    const before = (await taken([all[0]!], definition, 150)) + (await taken(all.slice(1), definition, 20));
    expect(before).toBe(210);
    all[0]!.close();
    const rest = all.slice(1);
    const after = await taken(rest, definition, 500);
    expect(before + after).toBeLessThanOrEqual(400);
    // Leases of the ended gateway are missing for a minute, and not more.
    await new Promise((resolve) => setTimeout(resolve, 600));
    const more = await taken(rest, definition, 100);
    expect(before + after + more).toBeGreaterThan(370);
    expect(before + after + more).toBeLessThanOrEqual(400);
  });

  it("refuse for a minute where the new holder cannot know what was used", async () => {
    const port = await freePort();
    const all = await members(3, port);
    const definition = requests(400);
    expect(await taken([all[0]!], definition, 10)).toBe(10);
    expect(await taken([all[1]!], definition, 10)).toBe(10);
    all[0]!.close();
    const outcome = await take(all[1]!, definition, 1);
    expect(outcome.kind).toBe("denied");
    if (outcome.kind !== "denied") return;
    expect(outcome.retryAtMs - clock()).toBeGreaterThan(50_000);
    expect(outcome.retryAtMs - clock()).toBeLessThan(62_000);
    // A budget is known from the usage files.
    const budget: LimitDefinition = { id: "money:a", kind: "money", limit: 10, period: "month" };
    expect((await take(all[1]!, budget, 1)).kind).toBe("taken");
  });

  it("let requests wait for the new holder", async () => {
    const port = await freePort();
    const all = await members(3, port, { directory: folder() });
    const definition = requests(10);
    // More than its share of a third.
    expect(await taken([all[1]!], definition, 8)).toBe(8);
    all[0]!.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await take(all[2]!, definition, 1)).kind).toBe("taken");
    expect(await taken(all.slice(1), definition, 5)).toBeLessThanOrEqual(1);
  });

  it.each(["give", "charge"] as const)("get settlements of a time without a holder: %s", async (kind) => {
    const port = await freePort();
    const all = await members(2, port, { directory: folder() });
    const budget: LimitDefinition = { id: "money:a", kind: "money", limit: 100, period: "month" };
    const held = await take(all[1]!, budget, 60);
    if (held.kind !== "taken") throw new Error("denied");
    all[0]!.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (kind === "give") all[1]!.give(budget, held.slot!, 60);
    else all[1]!.charge(budget, 40);
    expect((await take(all[1]!, budget, 1)).kind).toBe(kind === "give" ? "taken" : "denied");
    // Another gateway shows that the ledger has it, too.
    const [other] = await members(1, port, { name: "other" });
    const answer = async (): Promise<string> => (await take(other!, budget, 90)).kind;
    if (kind === "give") await expect.poll(answer).toBe("taken");
    else expect(await answer()).toBe("denied");
  });

  it("keep to a share when the gateway that holds them hangs", async () => {
    const port = await freePort();
    // A coordinator that sends `welcome` to its members and then never answers.
    const hung = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.write('{"t":"challenge","nonce":"c"}\n');
      readLines(socket, (message) => {
        const { t, nonce = "" } = message as { t: string; nonce?: string };
        if (t !== "hello") return;
        const welcome = { t: "welcome", proof: proofOf("s", nonce, "x"), ledger: "x", members: 2 };
        socket.write(`${JSON.stringify(welcome)}\n`);
      });
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
    const hello = { t: "hello" };
    const used = { t: "used", used: [] };
    for (const messages of [
      [used],
      [hello, { t: "used" }],
      [{ ...hello, proof: proofOf("s", "of another connection", "evil", 1) }, used, used],
      [{ ...hello, proof: 7 }, used, used],
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
      await peer(port, "evil", messages);
    }
    expect(await taken([holder!], definition, 20)).toBe(5);
  });

  it("hold a few KiB of a peer before it has shown the secret", async () => {
    const port = await freePort();
    const [holder] = await members(1, port);
    for (const line of ["x".repeat(1 << 20), JSON.stringify({ t: "hello", proof: "x".repeat(1 << 14) })]) {
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
    const answer = (name: string): Promise<string> => peer(port, name, [{ t: "hello" }, { t: "used", used: [] }]);
    for (let at = 1; at < 1024; at++) expect(await answer(`other${at}`)).toContain("welcome");
    expect(await answer("one too many")).toBe("closed");
    expect(await answer("other1")).toContain("welcome");
  });

  it("refuse a gateway that does not know the secret", async () => {
    const port = await freePort();
    const [holder] = await members(1, port);
    const stranger = member(port, { name: "stranger", secret: "wrong" });
    void stranger.start();
    expect((await take(holder!, requests(5), 1)).kind).toBe("taken");
    expect((await take(stranger, requests(5), 1)).kind).toBe("denied");
  });

  it("never send the secret, and do not follow a coordinator that does not know it", async () => {
    const port = await freePort();
    let sent = "";
    const liar = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        sent += bytes.toString();
        socket.write(
          '{"t":"welcome","proof":"0","ledger":"x","members":1}\n{"t":"granted","n":1,"slot":0,"amount":9}\n',
        );
      });
      socket.write('{"t":"challenge","nonce":"c"}\n');
    });
    await new Promise<void>((resolve) => liar.listen(port, "127.0.0.1", resolve));
    closers.push(() => liar.close());
    const limits = member(port, { secret: "a secret of the group" });
    void limits.start();
    await expect.poll(() => sent).toContain("hello");
    expect(sent).not.toContain("a secret of the group");
    expect((await take(limits, requests(5), 1)).kind).toBe("denied");
  });
});

describe("the file of a ledger", () => {
  const definition = requests(1000);
  const budget: LimitDefinition = { id: "money:a", kind: "money", limit: 1e12, period: "month" };
  const ask = { need: 1, want: 1, sharers: 1 };

  it("gives the next holder exactly what the last one had", async () => {
    const directory = folder();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            kind: fc.constantFrom("grant", "refund", "refundNewest", "charge", "join"),
            isMoney: fc.boolean(),
            member: fc.constantFrom("g", "h"),
            amount: fc.integer({ min: 1, max: 40 }),
            afterMs: fc.integer({ min: 0, max: 9000 }),
          }),
          { minLength: 1, maxLength: 60 },
        ),
        async (steps) => {
          rmSync(path.join(directory, "ledger.jsonl"), { force: true });
          let nowMs = 1e12;
          const opened = async (): Promise<{ ledger: SharedLedger; file: LedgerFile }> => {
            const file = await LedgerFile.open(directory, () => undefined);
            return { file: file!, ledger: await SharedLedger.open(file, () => nowMs) };
          };
          let { ledger, file } = await opened();
          const { id } = ledger;
          const plain = await SharedLedger.open(undefined, () => nowMs);
          for (const each of [ledger, plain])
            for (const name of ["g", "h"]) each.join(name, { life: 0, formerLedger: each.id, used: [] }, nowMs);
          let slot = -1;
          let life = 1;
          // Gateways refund only what they hold.
          const money: Record<string, number> = { g: 0, h: 0 };
          for (const { kind, isMoney, member: name, amount, afterMs } of steps) {
            nowMs += afterMs;
            const limit = isMoney ? budget : definition;
            if (isMoney && kind.startsWith("refund")) {
              if (kind === "refund" || money[name]! < amount) continue;
              money[name]! -= amount;
            } else if (isMoney && kind !== "join") money[name]! += amount;
            if (kind === "join") money[name] = 0;
            const outcomes = [ledger, plain].map((each) => {
              if (kind === "grant") return each.grant(name, limit, { ...ask, need: amount, want: amount }, nowMs);
              if (kind === "charge") each.charge(name, limit, amount, nowMs);
              else if (kind === "join") each.join(name, { life, formerLedger: each.id, used: [] }, nowMs);
              else each.refund(name, { definition: limit, slot: kind === "refund" ? slot : -1, amount }, nowMs);
              return undefined;
            });
            if (kind === "join") life++;
            expect(outcomes[0]).toEqual(outcomes[1]);
            if (outcomes[0]?.kind === "granted" && !isMoney) slot = outcomes[0].slot;
            // A holder that is killed has saved, and does nothing else.
            expect(ledger.save()).toBe(true);
            if (amount % 3 !== 0) continue;
            file.close();
            ({ ledger, file } = await opened());
            expect(ledger.id).toBe(id);
          }
          file.close();
        },
      ),
      { numRuns: 30 },
    );
  });

  it("ends with what the kill left whole, and is not used when it is damaged or of another boot", async () => {
    const directory = folder();
    const file = path.join(directory, "ledger.jsonl");
    const opened = async (): Promise<SharedLedger> =>
      SharedLedger.open(await LedgerFile.open(directory, () => undefined), () => 1e12);
    const first = await opened();
    first.grant("g", definition, { ...ask, need: 900, want: 900 }, 1e12);
    first.close();
    const whole = readFileSync(file, "utf8");
    const usedUp = { ...ask, need: 200, want: 200 };
    writeFileSync(file, `${whole}["added",1,"g"`);
    const second = await opened();
    expect([second.id, second.grant("g", definition, usedUp, 1e12).kind]).toEqual([first.id, "denied"]);
    second.close();
    for (const damaged of [
      whole.replace(/"imported"|"added"/, '"odd"'),
      whole.replace(/^(.*)"[^"]*"\]/, '$1"x"]'),
      "",
    ]) {
      writeFileSync(file, damaged);
      const third = await opened();
      expect(third.id).not.toBe(first.id);
      third.close();
    }
  });

  it("is written again when it has grown, without what is over", async () => {
    const directory = folder();
    let nowMs = 1e12;
    const ledger = await SharedLedger.open(await LedgerFile.open(directory, () => undefined), () => nowMs);
    for (let at = 0; at < 200_000; at++) {
      nowMs = 1e12 + at * 5;
      ledger.charge("g", definition, 1, nowMs);
    }
    expect(ledger.save()).toBe(true);
    expect(readFileSync(path.join(directory, "ledger.jsonl")).length).toBeLessThan(5 * 1024 * 1024);
    ledger.close();
    const next = await SharedLedger.open(await LedgerFile.open(directory, () => undefined), () => 1e12 + 1e6);
    expect(next.grant("g", definition, ask, 1e12 + 1e6).kind).toBe("denied");
    expect(next.grant("g", requests(100_000), ask, 1e12 + 1e6)).toMatchObject({ remaining: 100_000 - 12_101 });
    next.close();
  });

  it("is the whole ledger at every moment while it is written again in parts", async () => {
    const directory = folder();
    let nowMs = 1e12;
    const now = (): number => nowMs;
    const ledger = await SharedLedger.open(await LedgerFile.open(directory, () => undefined), now);
    for (const name of ["g", "h"]) ledger.join(name, { life: 1, formerLedger: ledger.id, used: [] }, nowMs);
    const limits = Array.from({ length: 3000 }, (_, at): LimitDefinition => {
      const kind = at % 3 === 0 ? "money" : "tokens";
      return { id: `${kind}:${at}`, kind, limit: 1e9, ...(kind === "money" ? { period: "month" } : {}) };
    });
    /** The amounts that a successor of a holder killed now would have. */
    const afterKill = async (): Promise<readonly number[]> => {
      const copy = folder();
      copyFileSync(path.join(directory, "ledger.jsonl"), path.join(copy, "ledger.jsonl"));
      const next = await SharedLedger.open(await LedgerFile.open(copy, () => undefined), now);
      expect(next.id).toBe(ledger.id);
      const amounts = limits.map((limit) => {
        const grant = next.grant("g", limit, { need: 0, want: 0, sharers: 1 }, nowMs);
        return 1e9 - grant.remaining;
      });
      next.close();
      return amounts;
    };
    const used = limits.map(() => 0);
    const draft = path.join(directory, "ledger.jsonl.new");
    let random = 1;
    let rewrites = 0;
    let checks = 0;
    for (let turn = 0; rewrites < 3 && turn < 5000; turn++) {
      const isWriting = existsSync(draft);
      for (let step = 0; step < 100; step++) {
        random = (random * 48_271) % 2_147_483_647;
        const at = random % limits.length;
        const name = random % 2 === 0 ? "g" : "h";
        if (random % 7 === 0 && limits[at]!.kind === "tokens" && used[at]! > 0) {
          ledger.refund(name, { definition: limits[at]!, slot: -1, amount: 1 }, nowMs);
          used[at]!--;
        } else {
          ledger.charge(name, limits[at]!, 2, nowMs);
          used[at]! += 2;
        }
      }
      nowMs += 1;
      expect(ledger.save()).toBe(true);
      if (isWriting && turn % 2 === 0 && checks < 10) {
        checks++;
        expect(await afterKill()).toEqual(used);
      } else await new Promise((resolve) => setImmediate(resolve));
      if (isWriting && !existsSync(draft)) {
        rewrites++;
        expect(await afterKill()).toEqual(used);
      }
    }
    expect([rewrites, checks > 0]).toEqual([3, true]);
    ledger.close();
  }, 60_000);

  it("that cannot be begun leaves the ledger without a successor", async () => {
    const directory = folder();
    const lines: string[] = [];
    symlinkSync("/dev/full", path.join(directory, "ledger.jsonl.new"));
    const file = await LedgerFile.open(directory, (line) => lines.push(line));
    const first = await SharedLedger.open(file, () => 1e12);
    expect(first.grant("g", definition, ask, 1e12).kind).toBe("granted");
    expect(lines).toEqual([expect.stringContaining("ENOSPC")]);
    rmSync(path.join(directory, "ledger.jsonl.new"));
    const second = await SharedLedger.open(await LedgerFile.open(directory, () => undefined), () => 1e12);
    expect(second.id).not.toBe(first.id);
    second.close();
  });
});
