/**
 * Compares the gateway's reader of request fields with JSON.parse. The gateway checks the model, the limits and the
 * prompt that it reads, and the replica serves what its own parser reads. Both must find the same values in the same
 * bytes. `HEADROOM_RUNS=100` runs a hundred times as many cases.
 */
import { describe, expect, it } from "vitest";
import { peekRequest, UNREADABLE } from "./peek.ts";

const runs = Number(process.env["HEADROOM_RUNS"] ?? 1) * 3000;

/** Generator of whole numbers from 0 to `bound` - 1 (mulberry32). */
function drawsFrom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

type Draw = ReturnType<typeof drawsFrom>;

const names = [
  "model",
  "stream",
  "stream_options",
  "max_tokens",
  "n",
  "messages",
  "prompt",
  "input",
  "tools",
  "user",
  "modal",
  "",
];
const pieces = [
  "m",
  "\\",
  '"',
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  "é",
  "😀",
  "\n",
  "\t",
  " ",
  "true",
  '"model":"x"',
  "\u2028",
  "\\\\",
];

function textFrom(draw: Draw): string {
  // The reader handles long strings by other code than short ones.
  return Array.from({ length: draw(draw(4) === 0 ? 60 : 6) }, () => pieces[draw(pieces.length)]).join("");
}

function blank(draw: Draw): string {
  return draw(3) === 0 ? (["", " ", "\n", "\t", "\r\n  "][draw(5)] as string) : "";
}

/** The text as a JSON string, with some of its characters as escapes. */
function quoted(text: string, draw: Draw): string {
  const inner = Array.from(JSON.stringify(text).slice(1, -1));
  let out = "";
  for (let at = 0; at < inner.length; at++) {
    const character = inner[at] as string;
    if (character === "\\") {
      const length = inner[at + 1] === "u" ? 6 : 2;
      out += inner.slice(at, at + length).join("");
      at += length - 1;
    } else if (character.length === 1 && draw(5) === 0) {
      out += `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    } else out += character;
  }
  return `"${out}"`;
}

function valueFrom(draw: Draw, depth: number): string {
  const kind = draw(depth > 2 ? 5 : 7);
  if (kind === 0) return quoted(textFrom(draw), draw);
  if (kind === 1) return String(draw(100_000));
  if (kind === 2) return ["true", "false", "null"][draw(3)] as string;
  if (kind === 3) return ["-1", "1.5", "1e3", "2E-2", "0", "123456789012345678"][draw(6)] as string;
  if (kind === 4) return quoted(names[draw(names.length)] as string, draw);
  const count = draw(4);
  const items = Array.from({ length: count }, () => `${blank(draw)}${valueFrom(draw, depth + 1)}${blank(draw)}`);
  if (kind === 5) return `[${count === 0 ? blank(draw) : items.join(",")}]`;
  const fields = items.map(
    (item) => `${blank(draw)}${quoted(names[draw(names.length)] as string, draw)}${blank(draw)}:${item}`,
  );
  return `{${count === 0 ? blank(draw) : fields.join(",")}}`;
}

function documentFrom(draw: Draw): string {
  const left = [...names];
  const fields = Array.from({ length: draw(8) }, () => {
    const [name] = left.splice(draw(left.length), 1);
    return `${blank(draw)}${quoted(name as string, draw)}${blank(draw)}:${blank(draw)}${valueFrom(draw, 0)}${blank(draw)}`;
  });
  return `${blank(draw)}{${fields.join(",")}}${blank(draw)}`;
}

function mutated(bytes: Buffer, draw: Draw): Buffer {
  const at = draw(bytes.length + 1);
  const inserted = Buffer.from(pieces[draw(pieces.length)] as string);
  const removed = draw(3);
  return Buffer.concat([
    bytes.subarray(0, at),
    draw(3) === 0 ? Buffer.alloc(0) : inserted,
    bytes.subarray(at + removed),
  ]);
}

/** The object in the bytes according to a strict parser. Undefined if there is none. */
function parsed(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function spanOf(bytes: Buffer, span: { readonly start: number; readonly end: number } | undefined): unknown {
  return span === undefined ? undefined : JSON.parse(bytes.toString("utf8", span.start, span.end));
}

function agrees(bytes: Buffer, value: Record<string, unknown>): void {
  const peek = peekRequest(bytes, "chat");
  const shown = bytes.toString("utf8");
  if ("problem" in peek) {
    // The gateway refuses values that engines could read otherwise.
    const isEscaped = peek.problem === UNREADABLE && shown.includes("\\");
    if (!isEscaped) expect(peek.problem, shown).toMatch(/given twice|must be (?:true or false|a whole number)/);
    return;
  }
  expect(peek.model, shown).toBe(typeof value["model"] === "string" ? value["model"] : "");
  expect(spanOf(bytes, peek.modelSpan), shown).toEqual(value["model"]);
  expect(peek.isStream, shown).toBe(value["stream"] === true);
  expect(spanOf(bytes, peek.streamOptions), shown).toEqual(value["stream_options"]);
  const options = value["stream_options"] as { include_usage?: unknown } | null | undefined;
  expect(peek.isUsageAsked, shown).toBe(options?.include_usage === true);
}

describe("the fields of a request", () => {
  it("are those that JSON.parse reads, in generated documents and in mutated ones", () => {
    let compared = 0;
    for (let seed = 1; seed <= runs; seed++) {
      const draw = drawsFrom(seed);
      let bytes: Buffer = Buffer.from(documentFrom(draw));
      const value = parsed(bytes);
      if (value === undefined) throw new Error(`seed ${seed} is not a document: ${bytes.toString("utf8")}`);
      agrees(bytes, value);
      for (let step = 0; step < 6; step++) {
        bytes = mutated(bytes, draw);
        const changed = parsed(bytes);
        if (changed === undefined) continue;
        agrees(bytes, changed);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(runs / 10);
  });

  it("are refused in more values than are read, with a message that does not call valid JSON invalid", () => {
    const tokens = (count: number): Buffer => Buffer.from(`{"model":"a","input":[${"1,".repeat(count - 1)}1]}`);
    expect(peekRequest(tokens(1_000_000), "embeddings")).toHaveProperty("model", "a");
    const { problem } = peekRequest(tokens(1_100_000), "embeddings") as { readonly problem: string };
    expect(problem).toContain("at most 1000000 values");
  });

  it("are refused with a number longer than is read, anywhere in the body, without reading it to its end", () => {
    for (const place of [
      '{"temperature":#,"model":"a"}',
      '{"model":"a","logit_bias":{"1":#}}',
      '{"model":"a","stop":[1,#]}',
    ]) {
      const body = (digits: number): Buffer => Buffer.from(place.replace("#", "1".repeat(digits)));
      expect(peekRequest(body(64), "chat")).toHaveProperty("model", "a");
      const { problem } = peekRequest(body(65), "chat") as { readonly problem: string };
      expect(problem).toContain("numbers of at most 64 characters");
    }
  });

  it("are refused where the body is no object, goes on after it, or gives the model twice", () => {
    for (const text of [
      "",
      "[]",
      '"model"',
      "{",
      '{"model":"a"',
      '{"model":"a"}x',
      '{"model":"a"} {}',
      '{"model"}',
      "{model:1}",
      '{"a":1,}',
      '{"\\u00":1}',
    ]) {
      expect(peekRequest(Buffer.from(text), "chat"), text).toHaveProperty("problem");
    }
    expect(peekRequest(Buffer.from('{"model":"a","mod\\u0065l":"b"}'), "chat")).toHaveProperty("problem");
  });
});
