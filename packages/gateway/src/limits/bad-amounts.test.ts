/** Amounts that are none are refused on both sides, and a question with one is answered: it would be asked for ever. */
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../testing/free-port.ts";
import type { TakeOutcome } from "./account.ts";
import { LeasedLimits } from "./leases.ts";
import type { LimitDefinition } from "./ledger.ts";
import { proofOf, readLines, type LedgerMessage } from "./wire.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const requests = (limit: number): LimitDefinition => ({ id: "requests:a", kind: "requests", limit });

async function member(port: number): Promise<LeasedLimits> {
  const limits = new LeasedLimits({
    address: { host: "127.0.0.1", port },
    secret: "s",
    member: "g",
    life: 1,
    directory: undefined,
    spent: [],
    now: () => performance.timeOrigin + performance.now(),
    log: () => undefined,
  });
  closers.unshift(() => limits.close());
  await limits.start();
  return limits;
}

const take = (limits: LeasedLimits, definition: LimitDefinition, amount: number): Promise<TakeOutcome> =>
  new Promise((resolve) => limits.take(definition, amount, resolve));

describe("limits of a group", () => {
  it.each([null, -1, Number.POSITIVE_INFINITY, "5", {}, [], true, undefined])(
    "answer a question for %j with a refusal",
    async (need) => {
      const port = await freePort();
      const holder = await member(port);
      const definition = requests(5);
      const answers = await new Promise<LedgerMessage[]>((resolve) => {
        const socket = connect(port, "127.0.0.1");
        closers.push(() => void socket.destroy());
        const got: LedgerMessage[] = [];
        readLines(socket, (line) => {
          const message = line as LedgerMessage;
          if (message.t === "challenge") {
            const proof = proofOf("s", message.nonce, "other", 1);
            const hello = { t: "hello", proof, nonce: "n", member: "other", life: 1, ledger: "" };
            const good = { t: "ask", n: 9, definition, need: 1, want: 1 };
            const asks = [{ ...good, n: 7, need }, { ...good, n: 8, want: need }, good];
            socket.write([hello, { t: "used", used: [] }, ...asks].map((each) => `${JSON.stringify(each)}\n`).join(""));
          }
          if ("n" in message) got.push(message);
          if (got.length === 3) resolve(got);
        });
      });
      expect(answers).toMatchObject([
        { t: "refused", n: 7 },
        { t: "refused", n: 8 },
        { t: "granted", n: 9, amount: 1 },
      ]);
      expect((await take(holder, definition, 1)).kind).toBe("taken");
    },
  );

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300])("do not count %d", async (amount) => {
    const limits = await member(await freePort());
    expect(() => limits.take(requests(5), amount, () => undefined)).toThrow("no amount");
    expect(() => limits.charge(requests(5), amount)).toThrow("no amount");
    expect((await take(limits, requests(5), 1)).kind).toBe("taken");
  });
});
