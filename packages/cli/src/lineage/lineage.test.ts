import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JsonSplitter } from "../input/json-values.ts";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import { writeJournal } from "../usage/testing/write-journal.ts";

const history = path.resolve(import.meta.dirname, "../../../../test/history/0033-stopped-tasks.journal.jsonl");
const folder = mkdtempSync(path.join(tmpdir(), "headroom-lineage-"));
const home = path.join(folder, "home");
beforeAll(() => writeJournal(home, readFileSync(history, "utf8").trimEnd().split("\n")));
afterAll(() => rmSync(folder, { recursive: true }));

const lineage = (args: readonly string[], stdin = ""): Promise<Said> =>
  headroom(["--home", home, "lineage", ...args], { workingDirectory: folder, stdin });

const event = (runId: string, more: object = {}): Readonly<Record<string, unknown>> => ({
  eventType: "COMPLETE",
  eventTime: "2026-11-01T12:00:00Z",
  producer: "https://example.org",
  schemaURL: "https://openlineage.io/spec/2-0-2/OpenLineage.json",
  run: { runId },
  job: { namespace: "etl", name: "orders" },
  inputs: [{ namespace: "db", name: "raw" }],
  outputs: [{ namespace: "db", name: "orders" }],
  ...more,
});
const id = "3b452093-782c-4ef2-9c0c-aafe2aa6f34d";

describe("headroom lineage import", () => {
  it("accepts valid lines, and rejects others with line and reason", async () => {
    const lines = [
      JSON.stringify(event(id)),
      "",
      "{ cut",
      JSON.stringify(event("x")),
      '{"a":'.repeat(300),
      JSON.stringify(event(id, { producer: "none" })),
    ];
    const { code, stdout } = await lineage(["import", "-", "--json"], lines.join("\r\n"));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      accepted: 1,
      rejected: [
        { line: 3, reason: expect.stringContaining("not JSON") },
        { line: 4, reason: 'run.runId: expected a UUID, got "x"' },
        { line: 5, reason: "nested more than 256 levels deep" },
        { line: 6, reason: 'producer: expected a URI, got "none"' },
      ],
      rejected_count: 4,
      kinds: { run: 1, job: 0, dataset: 0 },
      warnings: [],
      warning_count: 0,
      stored: 1,
    });
  });

  it("stores an event once, and walks it together with the journal", async () => {
    await lineage(["import", "-"], JSON.stringify(event(id)));
    const { stdout } = await lineage(["import", "-", "--json"], JSON.stringify(event(id)));
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 1, stored: 0 });
    const walk = JSON.parse((await lineage(["orders", "--json", "--up"])).stdout) as object;
    expect(walk).toMatchObject({
      found: expect.arrayContaining([{ kind: "dataset", namespace: "db", name: "orders" }]),
      upstream: expect.arrayContaining([{ depth: 2, kind: "dataset", namespace: "db", name: "raw" }]),
      upstream_cut: false,
    });
    expect(walk).not.toHaveProperty("downstream");
  });

  it("reads arrays and values over several lines, with the line of each", async () => {
    const array = JSON.stringify([event(id), event("x"), 7, "a,b", event(id)], null, 2);
    const { stdout } = await lineage(["import", "-", "--check", "--json"], array);
    expect(JSON.parse(stdout)).toMatchObject({
      accepted: 2,
      rejected: [
        { line: 27, reason: expect.stringContaining("run.runId") },
        { line: 52, reason: "expected an object, got 7" },
        { line: 53, reason: 'expected an object, got "a,b"' },
      ],
      stored: null,
    });
    const single = JSON.stringify(event(id), null, 2);
    expect(JSON.parse((await lineage(["import", "-", "--check", "--json"], single)).stdout)).toMatchObject({
      accepted: 1,
      rejected: [],
    });
    const cut = await lineage(["import", "-", "--check", "--json"], array.slice(0, -30));
    expect(JSON.parse(cut.stdout)).toMatchObject({ accepted: 1, rejected_count: 5 });
  });

  it("stores nothing if there is no state directory, and fails if nothing is valid", async () => {
    const none = path.join(folder, "none");
    const { code, stdout, stderr } = await headroom(["--home", none, "lineage", "import", "-"], {
      workingDirectory: folder,
      stdin: "7\n",
    });
    expect([code, stdout]).toEqual([1, expect.stringContaining("0 accepted")]);
    expect(stderr).toContain("Nothing was stored");
    expect(existsSync(none)).toBe(false);
  });
});

describe("JsonSplitter", () => {
  const read = (text: string, size: number): readonly string[] => {
    const splitter = new JsonSplitter();
    const bytes = Buffer.from(text);
    const found = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...splitter.push(bytes.subarray(at, at + size)));
    found.push(...splitter.end());
    return found.map((each) => `${each.line} ${"problem" in each ? "!" : each.text}`);
  };

  it.each([
    ['{"a":1}\n{"b":"é"}\n', ['1 {"a":1}', '2 {"b":"é"}']],
    ["\ufeff\n{}\n{", ["2 {}", "3 !"]],
    ['[{"a":"]}\\""},\n{},3 , [4]]\n{"x":1}', ['1 {"a":"]}\\""}', "2 {}", "2 3", "2 [4]", '3 {"x":1}']],
    ['[{"a":"x,\n "b":1},\n{"c":1}]', ["1 !", '3 {"c":1}']],
    ['[{"a": },\n{"c":1}]', ["1 !", '2 {"c":1}']],
    ["{\n}\n{\n", ["1 {\n}", "3 !"]],
    ["{  }", ["1 {  }"]],
    ["{  \n", ["1 !"]],
    ["[", ["1 !"]],
    ["", []],
    ["\n \n", []],
    ["nonsense\n\u0000\n", ["1 !", "2 !"]],
  ])("reads %j in pieces of any size", (text, expected) => {
    for (const size of [1, 2, 3, 7, 1_000]) expect(read(text, size)).toEqual(expected);
  });
});

describe("headroom lineage", () => {
  it("exports the journal as events that its own import accepts", async () => {
    const { code, stdout } = await lineage(["export"]);
    expect(code).toBe(0);
    const { stdout: report } = await lineage(["import", "-", "--check", "--json"], stdout);
    expect(JSON.parse(report)).toMatchObject({ rejected: [], warnings: [], kinds: { job: 0, dataset: 0 } });
    expect((JSON.parse(report) as { accepted: number }).accepted).toBeGreaterThan(10);
  });

  it("prints a table, from a file alone if asked", async () => {
    writeFileSync(path.join(folder, "events.jsonl"), JSON.stringify(event(id)));
    mkdirSync(path.join(folder, "empty"), { recursive: true });
    const { code, stdout } = await headroom(
      ["--home", path.join(folder, "empty"), "lineage", "raw", "--down", "--file", "events.jsonl"],
      { workingDirectory: folder },
    );
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/0 +dataset +raw +db\n +1 +run +orders +3b452093.* COMPLETE\n +2 +dataset +orders/),
    ]);
  });

  it("names what it cannot find", async () => {
    const nothing = await lineage(["no-such-name"]);
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining('is named "no-such-name"')]);
    const depth = await lineage(["x", "--depth", "-1"]);
    expect([depth.code, depth.stderr]).toEqual([2, expect.stringContaining("--depth")]);
    const empty = await headroom(["--home", "/nowhere", "lineage", "x"], { workingDirectory: folder });
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("no journal and no imported events")]);
  });
});
