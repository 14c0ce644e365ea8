import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { LedgerFile } from "./ledger-file.ts";
import type { LimitDefinition } from "./ledger.ts";
import { SharedLedger } from "./shared-ledger.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Noon of a day. */
const NOON_MS = 20_000 * DAY_MS + DAY_MS / 2;

const budget: LimitDefinition = { id: "money:day:a", kind: "money", limit: 100, period: "day" };
const requests: LimitDefinition = { id: "requests:a", kind: "requests", limit: 10 };

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

function folder(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-shared-ledger-"));
  directories.push(directory);
  return directory;
}

async function opened(directory: string, nowMs: number): Promise<SharedLedger> {
  return SharedLedger.open(await LedgerFile.open(directory, () => undefined), () => nowMs);
}

function join(ledger: SharedLedger, names: readonly string[], nowMs: number): void {
  for (const name of names) ledger.join(name, { life: 1, formerLedger: "", used: [] }, nowMs);
}

function used(ledger: SharedLedger, definition: LimitDefinition, nowMs: number): number {
  const grant = ledger.grant("g", definition, { need: 0, want: 0, sharers: 1 }, nowMs);
  return definition.limit - grant.remaining;
}

describe("a budget of several gateways in its next period", () => {
  it("does not count the money of the period before again when holders change", async () => {
    const directory = folder();
    const next = NOON_MS + DAY_MS;
    const first = await opened(directory, NOON_MS);
    join(first, ["g"], NOON_MS);
    first.charge("g", budget, 60, NOON_MS);
    first.charge("g", budget, 10, next);
    first.close();
    for (let holder = 0; holder < 2; holder++) {
      const successor = await opened(directory, next);
      expect(used(successor, budget, next)).toBe(10);
      successor.close();
    }
  });

  it("keeps the money of other gateways when one starts again", async () => {
    const next = NOON_MS + DAY_MS;
    const ledger = await SharedLedger.open(undefined, () => next);
    join(ledger, ["g", "h"], NOON_MS);
    ledger.charge("g", budget, 60, NOON_MS);
    ledger.charge("g", budget, 10, next);
    ledger.charge("h", budget, 50, next);
    ledger.join("g", { life: 2, formerLedger: "", used: [{ definition: budget, ages: [[0, 10]] }] }, next);
    expect(used(ledger, budget, next)).toBe(60);
  });

  it("keeps its money when a lease of the period before is returned", async () => {
    const next = NOON_MS + DAY_MS;
    const ledger = await SharedLedger.open(undefined, () => next);
    join(ledger, ["g", "h"], NOON_MS);
    const lease = ledger.grant("g", budget, { need: 40, want: 40, sharers: 1 }, NOON_MS);
    if (lease.kind === "denied") throw new Error("denied");
    ledger.charge("g", budget, 10, next);
    ledger.charge("h", budget, 50, next);
    ledger.refund("g", { definition: budget, slot: lease.slot, amount: 40 }, next);
    ledger.join("g", { life: 2, formerLedger: "", used: [{ definition: budget, ages: [[0, 10]] }] }, next);
    expect(used(ledger, budget, next)).toBe(60);
  });
});

describe("a holder whose clock is an hour behind the last one's", () => {
  it("continues a limit per minute, which is free again after a minute", async () => {
    const directory = folder();
    const behindMs = NOON_MS - HOUR_MS;
    const first = await opened(directory, NOON_MS);
    first.charge("g", requests, 4, NOON_MS - 30_000);
    first.charge("g", requests, 6, NOON_MS);
    first.close();
    const second = await opened(directory, behindMs);
    expect(second.id).toBe(first.id);
    const ask = { need: 1, want: 1, sharers: 1 };
    expect(second.grant("g", requests, ask, behindMs).kind).toBe("denied");
    expect(used(second, requests, behindMs + 32_000)).toBe(6);
    expect(used(second, requests, behindMs + 62_000)).toBe(0);
    second.close();
  });

  it("withholds the limits per minute for a minute and not for an hour", async () => {
    const directory = folder();
    const behindMs = NOON_MS - HOUR_MS;
    const first = await opened(directory, NOON_MS);
    first.join("g", { life: 1, formerLedger: "another", used: [] }, NOON_MS);
    first.close();
    const second = await opened(directory, behindMs);
    const ask = { need: 1, want: 1, sharers: 1 };
    expect(second.grant("g", requests, ask, behindMs).kind).toBe("denied");
    expect(second.grant("g", requests, ask, behindMs + 62_000).kind).toBe("granted");
    second.close();
  });

  it("continues a budget", async () => {
    const directory = folder();
    const behindMs = NOON_MS - HOUR_MS;
    const first = await opened(directory, NOON_MS);
    join(first, ["g", "h"], NOON_MS);
    first.charge("g", budget, 60, NOON_MS);
    first.charge("h", budget, 20, NOON_MS);
    first.close();
    for (let holder = 0; holder < 2; holder++) {
      const successor = await opened(directory, behindMs);
      expect(used(successor, budget, behindMs)).toBe(80);
      successor.close();
    }
    const last = await opened(directory, behindMs);
    last.join("g", { life: 2, formerLedger: "", used: [] }, behindMs);
    expect(used(last, budget, behindMs)).toBe(20);
    last.close();
  });
});
