import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-usage-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function line(seq: number, own: Readonly<Record<string, unknown>>): string {
  const record = { seq, id: `g-1-${seq}`, atMs: Date.UTC(2026, 10, 23), team: "search", key: "laptop", model: "chat" };
  const counts = { promptTokens: 1000, completionTokens: 500, cachedTokens: 0, isPromptEstimated: false };
  const end = { pool: "p", operation: "chat", outcome: "completed", status: 200, nanoUsd: 450_000 };
  return `${JSON.stringify({ ...record, ...counts, ...end, ...own })}\n`;
}

function gateway(id: string, text: string): void {
  mkdirSync(path.join(folder, "state", id, "usage"), { recursive: true });
  writeFileSync(path.join(folder, "state", id, "usage", "usage-0000000000000001-00000001.jsonl"), text);
}

const run = (...args: string[]): ReturnType<typeof headroom> =>
  headroom(["gateway", "usage", ...args], { workingDirectory: folder });

describe("headroom gateway usage", () => {
  it("prints CSV by day, team, key and model, and explains one request from the files", async () => {
    gateway("one", line(1, {}) + line(2, { atMs: Date.UTC(2026, 10, 24), nanoUsd: 1 }));
    const { stdout } = await run("state", "--csv");
    expect(stdout).toBe(
      "day,team,key,model,requests,aborted,failed,promptTokens,cachedTokens,completionTokens,usd\n" +
        "2026-11-23,search,laptop,chat,1,0,0,1000,0,500,0.00045\n2026-11-24,search,laptop,chat,1,0,0,1000,0,500,0.000000001\n",
    );
    const models = "pools: [{ name: p, replicas: ['http://127.0.0.1:9'] }]\nmodels: [{ name: chat, pools: [p] }]\n";
    writeFileSync(path.join(folder, "gateway.yaml"), `access: open\nstate: state\n${models}`);
    const explain = (id: string): ReturnType<typeof headroom> =>
      headroom(["gateway", "explain", id], { workingDirectory: folder });
    expect((await explain("g-1-2")).stdout).toMatch(
      /^g-1-2: chat for chat of search \(key laptop\), 2026-11-24T[^]*usage: 1000 prompt tokens, .* 500 output tokens, 1e-9 USD/,
    );
    expect((await explain("g-1-9")).stderr).toContain("have no record of g-1-9");
  });

  it("adds up over gateways, and settles each record once", async () => {
    gateway("one", line(1, {}) + line(2, { outcome: "aborted", completionTokens: 3, nanoUsd: 151_800 }));
    gateway(
      "two",
      line(1, { team: "", key: "", nanoUsd: 0, atMs: Date.UTC(2026, 11, 1) }) + line(2, { outcome: "open" }),
    );
    const first = await run("state", "--ledger", "billing.json");
    expect(`${first.stdout}${first.stderr}`).toBe(
      `TEAM    KEY     MODEL  REQUESTS  ABORTED  FAILED  PROMPT  CACHED  OUTPUT        USD
-       -       chat          1        0       0    1000       0     500       0.00
search  laptop  chat          2        1       0    2000       0     503  0.0006018
3 records of 2 gateways settled into billing.json; 1 streams in progress.
`,
    );
    const ledger = readFileSync(path.join(folder, "billing.json"), "utf8");
    const again = await run("state", "--ledger", "billing.json");
    expect(again.stdout).toBe(first.stdout);
    expect(again.stderr).toBe("0 records of 2 gateways settled into billing.json; 1 streams in progress.\n");
    expect(readFileSync(path.join(folder, "billing.json"), "utf8")).toBe(ledger);
    const month = await run("state", "--ledger", "billing.json", "--period", "2026-12", "--json");
    expect(JSON.parse(month.stdout)).toMatchObject({ settledCount: 0, sums: [{ team: "", requests: 1, usd: "0.00" }] });
    const over = await run("state", "--over", "--json");
    expect(JSON.parse(over.stdout)).toMatchObject({ gateways: ["one", "two"], settledCount: 4, openCount: 0 });
  });

  it("says what is wrong", async () => {
    const nothing = await run("state");
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining("cannot be read")]);
    mkdirSync(path.join(folder, "state"));
    expect((await run("state")).stderr).toContain("has no usage files");
    gateway("one", `${line(1, {})}{"seq":\n`);
    expect((await run("state")).stderr).toContain("has a line that is no usage record");
    expect(await run("state", "--period", "november")).toMatchObject({ code: 2 });
    writeFileSync(path.join(folder, "billing.json"), "{}");
    expect((await run("state", "--ledger", "billing.json")).stderr).toContain("is not a usage ledger");
  });
});
