/** The steps as processes: files in, files and reports out. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fromHalf, toHalf } from "../serving/half.mjs";
import { draw } from "../quickstart/model.mjs";
import { quantised } from "./quantise.mjs";
import { tinyModel } from "./testing/tiny-model.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-steps-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => path.join(folder, name);
const json = (name: string): Record<string, unknown> => JSON.parse(readFileSync(at(name), "utf8")) as never;

interface StepEnd {
  readonly code: number | null;
  readonly errors: string;
  readonly results: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, number>>;
}

function step(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<StepEnd> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, program), ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...env },
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (piece) => (output += String(piece)));
  child.stderr.on("data", (piece) => (errors += String(piece)));
  return new Promise((resolve) =>
    child.on("close", (code) => {
      const lines = output.split("\n").filter((line) => line.startsWith("{"));
      const all = lines.map((line) => JSON.parse(line) as { name: string; path: string; metrics?: never });
      const results = all
        .filter((each) => each.path.startsWith("data:,"))
        .map((each) => [each.name, each.path.slice(6)]);
      const metrics = all.find((each) => each.metrics !== undefined)?.metrics ?? {};
      resolve({ code, errors, results: Object.fromEntries(results) as never, metrics });
    }),
  );
}

const table = (scoreOf: (row: number) => number, rows = 200): string =>
  ["id,language,text,score", ...Array.from({ length: rows }, (_, i) => `${i + 1},en,"a, ""b""",${scoreOf(i)}`)].join(
    "\n",
  );
const schema = path.join(import.meta.dirname, "schema.json");

it("validate finds faults by line, and the drift of a column", async () => {
  writeFileSync(
    at("before.csv"),
    table((i) => (i % 100) / 100),
  );
  writeFileSync(
    at("same.csv"),
    table((i) => ((i * 7) % 100) / 100),
  );
  writeFileSync(
    at("shifted.csv"),
    table((i) => 0.8 + (i % 20) / 100),
  );
  const same = await step("validate.mjs", ["--data", "same.csv", "--schema", schema, "--reference", "before.csv"]);
  expect(same).toMatchObject({ code: 0, metrics: { rows: 200, faults: 0, drift: 0 } });
  const shifted = await step("validate.mjs", [
    "--data",
    "shifted.csv",
    "--schema",
    schema,
    "--reference",
    "before.csv",
  ]);
  expect(shifted).toMatchObject({ code: 1, results: { faults: "0" } });
  expect(shifted.metrics["drift"]).toBeGreaterThan(1);
  expect(shifted.errors).toMatch(/^score has drifted/m);
  expect(json("validation.json")).toMatchObject({ driftByColumn: { language: 0, id: 0 } });
  writeFileSync(at("faulty.csv"), "id,language,text,score\n0,fr,x,2\n1,en,y\n,de,z,\n");
  const faulty = await step("validate.mjs", ["--data", "faulty.csv", "--schema", schema]);
  expect(faulty).toMatchObject({ code: 1, metrics: { rows: 3, faults: 5 } });
  expect(faulty.errors.trim().split("\n")).toEqual([
    "line 2: id is below 1: 0",
    "line 2: language is none of the values: fr",
    "line 2: score is above 1: 2",
    "line 3: 3 cells, and the head has 4",
    "line 4: id is missing",
    "3 rows, expected 10 to Infinity",
  ]);
  writeFileSync(at("odd.json"), '{"columns":{"id":{"type":"integer","maximum":3}}}');
  const odd = await step("validate.mjs", ["--data", "same.csv", "--schema", "odd.json"]);
  expect(odd).toMatchObject({ code: 2, errors: expect.stringContaining("column id: maximum is not known") as never });
});

it("validate counts the values of a sorted column of texts", async () => {
  const sorted = (languages: Readonly<Record<string, number>>): string =>
    ["language", ...Object.entries(languages).flatMap(([language, rows]) => Array<string>(rows).fill(language))].join(
      "\n",
    );
  writeFileSync(at("languages.json"), '{"columns":{"language":{"type":"string"}}}');
  writeFileSync(at("before.csv"), sorted({ de: 1_600, en: 1_200, fr: 1_200 }));
  writeFileSync(at("now.csv"), sorted({ de: 1_600, en: 2_400 }));
  const args = ["--data", "now.csv", "--schema", "languages.json", "--reference", "before.csv"];
  const { code, metrics } = await step("validate.mjs", args);
  expect(code).toBe(1);
  expect(metrics["drift"]).toBeGreaterThan(1);
  // More rows than the sample has.
  writeFileSync(at("before.csv"), sorted({ de: 250_000, en: 125_000, fr: 125_000 }));
  writeFileSync(at("now.csv"), sorted({ de: 250_000, en: 250_000 }));
  expect((await step("validate.mjs", args)).metrics["drift"]).toBeGreaterThan(1);
  const same = ["--data", "before.csv", "--schema", "languages.json", "--reference", "before.csv"];
  expect(await step("validate.mjs", same)).toMatchObject({ code: 0, metrics: { drift: 0 } });
});

it("validate takes no blanks, lists and truth values for numbers, and reads a byte order mark", async () => {
  writeFileSync(at("numbers.json"), '{"columns":{"id":{"type":"integer"},"score":{"type":"number","min":0}}}');
  writeFileSync(at("odd.jsonl"), '{"id":[],"score":true}\n{"id":"3","score":0.5}\n');
  const odd = await step("validate.mjs", ["--data", "odd.jsonl", "--schema", "numbers.json"]);
  expect(odd).toMatchObject({ code: 1, metrics: { rows: 2, faults: 2 } });
  writeFileSync(at("odd.csv"), "\uFEFFid,score\n1, \n2,0.5\n");
  const blank = await step("validate.mjs", ["--data", "odd.csv", "--schema", "numbers.json"]);
  expect(blank.errors.trim()).toMatch(/^line 2: score is no number: ?$/);
});

it("quantise writes a model of a quarter of the size with nearly the same loss, also when it is tried again", async () => {
  writeFileSync(at("full.gguf"), tinyModel());
  writeFileSync(at("text"), "Nodes join a pool, and work is placed on them.");
  const args = ["--model", "full.gguf", "--to", "small.gguf", "--text", "text"];
  const { code, metrics } = await step("quantise.mjs", args);
  expect(code).toBe(0);
  const ratio = (metrics["bytesAfter"] ?? 0) / (metrics["bytesBefore"] ?? 1);
  expect(ratio).toBeGreaterThan(0.25);
  expect(ratio).toBeLessThan(0.3);
  expect(metrics["weightError"]).toBeLessThan(0.01);
  expect(metrics["weightError"]).toBeGreaterThan(0.001);
  expect(Math.abs((metrics["lossAfter"] ?? 0) - (metrics["lossBefore"] ?? 9))).toBeLessThan(0.01);
  expect(await step("quantise.mjs", args)).toMatchObject({ code: 0 });
  const same = await step("quantise.mjs", ["--model", "full.gguf", "--to", "full.gguf"]);
  expect(same).toMatchObject({ code: 2, errors: expect.stringContaining("the model itself") as never });
  const again = await step("quantise.mjs", ["--model", "small.gguf", "--to", "smaller.gguf"]);
  expect(again).toMatchObject({ code: 2, errors: expect.stringContaining("quantised already") as never });
});

it("quantise rounds halves away from zero, as ggml does", () => {
  const values = Float32Array.from({ length: 32 }, (_, i) => (i === 0 ? 127 : i % 2 === 0 ? -(i + 0.5) : i + 0.5));
  const bytes = quantised(values, { values: 0, errors: 0 });
  const levels = Array.from({ length: 32 }, (_, i) => bytes.readInt8(2 + i));
  const tiny = Float32Array.from({ length: 32 }, (_, i) => (i === 0 ? 1e-37 : 1e-40));
  expect([...quantised(tiny, { values: 0, errors: 0 })].every((byte) => byte === 0)).toBe(true);
  expect(levels).toEqual(Array.from({ length: 32 }, (_, i) => (i === 0 ? 127 : i % 2 === 0 ? -(i + 1) : i + 1)));
});

it("infer tries busy requests again, continues after a cut, and gives what evaluate measures", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      const { prompt, input } = JSON.parse(body) as { prompt?: string; input?: string };
      const isFirst = !asked.includes(prompt ?? input ?? "");
      asked.push(prompt ?? input ?? "");
      response.setHeader("x-request-id", `r${asked.length}`);
      if (prompt === "bad") response.writeHead(400).end("no such model");
      else if (isFirst) response.writeHead(429).end("busy");
      else if (input === undefined) response.end(JSON.stringify({ choices: [{ text: `${prompt} it is.` }] }));
      else response.end(JSON.stringify({ data: [{ embedding: [input.length, 1] }] }));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  try {
    const env = { GATEWAY_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, GATEWAY_KEY: "k" };
    const args = ["--data", "in.jsonl", "--model", "m", "--to", "out.jsonl", "--first-wait-ms", "1"];
    const records = [{ input: "bad" }, { input: "Blue", expected: "blue it is" }, { input: "Red", expected: "red" }];
    writeFileSync(at("in.jsonl"), records.map((each) => JSON.stringify(each)).join("\n"));
    expect(await step("infer.mjs", args, env)).toMatchObject({ code: 1 });
    expect(asked.filter((prompt) => prompt === "bad")).toHaveLength(1);
    writeFileSync(`${at("out.jsonl.partial")}`, `${readFileSync(at("out.jsonl.partial"), "utf8")}{"line":9,"cut`);
    const second = await step("infer.mjs", [...args, "--failed-max", "1"], env);
    expect(second).toMatchObject({ code: 0, metrics: { records: 3, failed: 1 } });
    expect(asked.filter((prompt) => prompt === "Blue")).toHaveLength(2);
    const lines = readFileSync(at("out.jsonl"), "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { line: 2, output: "Blue it is.", requestId: expect.stringMatching(/^r\d/) as never },
      { line: 3, output: "Red it is." },
    ]);
    writeFileSync(at("lines.jsonl"), '{"input":"One","line":"a"}\n{"input":"Two","line":"a"}\n');
    const named = ["--data", "lines.jsonl", "--model", "m", "--to", "named.jsonl", "--first-wait-ms", "1"];
    expect(await step("infer.mjs", named, env)).toMatchObject({ code: 0, metrics: { records: 2, failed: 0 } });
    const answers = readFileSync(at("named.jsonl"), "utf8").trim().split("\n");
    expect(answers.map((line) => JSON.parse(line) as object)).toMatchObject([
      { line: 1, output: "One it is." },
      { line: 2, output: "Two it is." },
    ]);
    // Answers of one model are not those of another.
    writeFileSync(at("texts.jsonl"), '{"input":"Text"}\n{"input":"bad"}\n');
    const ofTexts = ["--data", "texts.jsonl", "--to", "texts.out", "--first-wait-ms", "1"];
    expect(await step("infer.mjs", [...ofTexts, "--model", "m"], env)).toMatchObject({ code: 1 });
    const before = asked.filter((prompt) => prompt === "Text").length;
    const other = await step("infer.mjs", [...ofTexts, "--model", "other", "--failed-max", "1"], env);
    expect(other).toMatchObject({ code: 0, metrics: { records: 2, failed: 1 } });
    expect(asked.filter((prompt) => prompt === "Text")).toHaveLength(before + 1);
    const score = await step("evaluate.mjs", ["--data", "out.jsonl"]);
    expect(score).toMatchObject({ code: 0, metrics: { records: 2, exact: 0.5, contains: 1, f1: 0.75 } });
    const embed = ["--data", "in.jsonl", "--model", "m", "--to", "vectors.jsonl", "--kind", "embedding"];
    expect(await step("infer.mjs", [...embed, "--first-wait-ms", "1"], env)).toMatchObject({ code: 0 });
    expect(readFileSync(at("vectors.jsonl"), "utf8")).toContain('"embedding":[4,1]');
    expect(await step("infer.mjs", embed, { GATEWAY_URL: env.GATEWAY_URL })).toMatchObject({ code: 2 });
  } finally {
    server.close();
  }
});

it("halves are those of the standard", () => {
  const view = new DataView(new ArrayBuffer(2));
  for (let half = 0; half < 0x7c00; half++) {
    view.setUint16(0, half);
    expect(fromHalf(half)).toBe(view.getFloat16(0));
    expect(toHalf(fromHalf(half))).toBe(half);
  }
  for (let i = 0; i < 20_000; i++) {
    const value = (draw(3, i, 0) - 0.5) * 2 ** (draw(3, i, 1) * 44 - 26);
    view.setFloat16(0, Math.fround(value));
    expect([value, toHalf(value)]).toEqual([value, view.getUint16(0)]);
  }
});

it("evaluate refuses an empty file and records without answers", async () => {
  writeFileSync(at("none.jsonl"), "\n");
  expect(await step("evaluate.mjs", ["--data", "none.jsonl"])).toMatchObject({ code: 2 });
  writeFileSync(at("odd.jsonl"), '{"output":"x"}\n');
  expect((await step("evaluate.mjs", ["--data", "odd.jsonl"])).errors).toMatch(/line 1: it needs the texts/);
});
