/**
 * Requests that pass a limit, or block the gateway, if an engine reads a field otherwise than the gateway. Each is read
 * as engines read it, or refused.
 */
import { describe, expect, it } from "vitest";
import type { Operation } from "../protocols/endpoints.ts";
import { countedBuffer } from "../testing/counted-buffer.ts";
import { peekRequest, type RequestPeek } from "./peek.ts";
import { hasRemoteMedia } from "./remote-media.ts";

function read(text: string, operation: Operation = "chat"): RequestPeek | string {
  const peek = peekRequest(Buffer.from(text), operation);
  return "problem" in peek ? peek.problem : peek;
}

const choices = (text: string, operation?: Operation): number | string => {
  const peek = read(text, operation);
  return typeof peek === "string" ? "refused" : peek.choiceCount;
};
const maximum = (value: string): number | undefined | string => {
  const peek = read(`{"model":"m","max_tokens":${value}}`);
  return typeof peek === "string" ? "refused" : peek.outputTokensMax;
};

describe("the number of choices", () => {
  it.each([
    ["1", 1],
    ["2", 2],
    ["128", 128],
    ["1e2", 100],
    ["1E+2", 100],
    ["100.0", 100],
    ["100.000", 100],
    ["0.1e3", 100],
    ["10000e-2", 100],
    ["null", 1],
    ["129", "refused"],
    ["1000", "refused"],
    ["1e3", "refused"],
    ["1e400", "refused"],
    ["-1", "refused"],
    ["-0", "refused"],
    ["0", "refused"],
    ["1.5", "refused"],
    ['"100"', "refused"],
    ['" 100 "', "refused"],
    ["true", "refused"],
    ["[100]", "refused"],
    ["{}", "refused"],
    ["007", "refused"],
    ["+7", "refused"],
    ["0x64", "refused"],
    ["1_00", "refused"],
    ["NaN", "refused"],
    ["Infinity", "refused"],
    ["99999999999999999999", "refused"],
    [`1${"0".repeat(500)}`, "refused"],
  ])("n: %s", (value, expected) => {
    expect(choices(`{"model":"m","n":${value}}`)).toBe(expected);
    expect(choices(`{"best_of":${value},"model":"m"}`)).toBe(expected);
  });

  it.each([
    ['"one"', 1],
    ["[1,2,3]", 1],
    ["[]", 1],
    ['["a"]', 1],
    ['["a","b","c"]', 3],
    ['[ "a" , "b" ]', 2],
    ["[[1,2],[3]]", 2],
    [`[${'"x",'.repeat(99)}"x"]`, 100],
    [`[${'"x",'.repeat(2047)}"x"]`, 2048],
    [`[${'"x",'.repeat(2048)}"x"]`, "refused"],
    [`[${"[],".repeat(100_000)}[]]`, "refused"],
  ])("with the prompts %.20s", (prompt, expected) => {
    expect(choices(`{"model":"m","prompt":${prompt}}`, "text_completion")).toBe(expected);
    const tripled = choices(`{"n":3,"model":"m","prompt":${prompt}}`, "text_completion");
    expect(tripled).toBe(typeof expected === "number" ? 3 * expected : expected);
  });
});

describe("the maximum of output tokens", () => {
  it.each([
    ["7", 7],
    ["1e5", 100_000],
    ["20000.0", 20_000],
    ["0", 0],
    ["null", undefined],
    ["1e9", 1_000_000_000],
    ["1e308", "refused"],
    ["1e400", "refused"],
    ["1000000001", "refused"],
    ['"20000"', "refused"],
    ["-1", "refused"],
    ["2.5", "refused"],
    ["false", "refused"],
    ["[20000]", "refused"],
  ])("max_tokens: %s", (value, expected) => expect(maximum(value)).toBe(expected));

  it("is the largest of those that are given, and min_tokens is read beside it", () => {
    expect(read('{"max_completion_tokens":900,"max_tokens":1}')).toMatchObject({ outputTokensMax: 900 });
    expect(read('{"max_tokens":1,"max_completion_tokens":900}')).toMatchObject({ outputTokensMax: 900 });
    expect(read('{"min_tokens":1e3}')).toMatchObject({ outputTokensMax: undefined, outputTokensMin: 1000 });
    expect(read('{"min_tokens":"9"}')).toContain("min_tokens");
  });
});

describe("flags and names", () => {
  it.each(['"true"', "1", '"on"', "[]", "{}", '"yes"', "1.0", "TRUE"])("stream: %s is refused", (value) => {
    expect(read(`{"model":"m","stream":${value}}`)).toEqual(expect.any(String));
  });

  it.each([
    ['{"model":"a","Model":"b"}', ["Model"]],
    ['{"model":"a","priority":-1,"kv_transfer_params":{}}', ["priority", "kv_transfer_params"]],
    ['{"model":"a","n_predict":9}', ["n_predict"]],
    ['{"model":"a","chat_template":"x"}', ["chat_template"]],
  ])("%s", (text, unlisted) => expect(read(text)).toMatchObject({ unlisted }));

  it.each([
    '{"max_tokens":1,"max_tokens":20000}',
    '{"n":1,"n":100}',
    '{"messages":[],"messages":[]}',
    '{"x":1,"x":2}',
    '{"m\\u0061x_tokens":20000}',
    '{"m\\u006fdel":"x"}',
    '{"\\"":1}',
  ])("%s is refused", (text) => expect(read(text)).toEqual(expect.any(String)));

  const many = (count: number, key: (index: number) => string): string =>
    `{"model":"m",${Array.from({ length: count }, (_, index) => `"${key(index)}":0`).join(",")}}`;

  it.each([
    ["a million unknown fields", 1000, many(1_000_000, (index) => `k${index}`)],
    ["a million escaped fields", 200, many(1_000_000, () => "\\u0061")],
    ["a long name", 100_200, `{"model":"m","${"k".repeat(100_000)}":1}`],
    ["stream_options of many items", 70_000, `{"model":"m","stream_options":{${'"a":0,'.repeat(10_000)}"b":0}}`],
    ["millions of lists", 2_000_200, `{"model":"m","messages":[${"[],".repeat(2_000_000)}[]]}`],
    ["a text of quotes that does not end", 70_000, `{"model":"m","messages":"${'\\"'.repeat(20_000)}`],
    ["a number of millions of digits", 1000, `{"model":"m","temperature":${"1".repeat(16_000_000)}}`],
    ["such a number in a list", 1000, `{"model":"m","stop":[${"1".repeat(16_000_000)}]}`],
    ["deep lists", 1000, `{"model":"m","messages":${"[".repeat(2_000_000)}`],
  ])("%s are refused at the first fault, after %d reads at most", (_name, readsMax, text) => {
    const { bytes, reads } = countedBuffer(Buffer.from(text));
    expect(peekRequest(bytes, "chat")).toHaveProperty("problem");
    expect(reads()).toBeLessThanOrEqual(readsMax);
  });
});

describe("media at addresses", () => {
  const part = (url: string): string =>
    `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":${url}}]}]}`;
  it.each([
    [part('{"url":"http://10.0.0.1/"}'), true],
    [part('{"url":"https://a.example/x.png","detail":"low"}'), true],
    [part('{"detail":"low","url":"file:///etc/passwd"}'), true],
    [part('"http://10.0.0.1/"'), true],
    [part('{"url":" data:image/png;base64,AA"}'), true],
    [part('{"url":"\\u0068ttp://10.0.0.1/"}'), true],
    [part('{"u\\u0072l":"http://10.0.0.1/"}'), true],
    ['{"messages":[{"content":[{"type":"image_url","image\\u005furl":{"url":"http://a/"}}]}]}', true],
    ['{"messages":[{"content":[{"type":"video_url","video_url" : {"url":"http://a/"}}]}]}', true],
    ['{"messages":[{"content":[{"type":"audio_url","audio_url":\n{"url":"http://a/"}}]}]}', true],
    [part('{"url":"data:image/png;base64,AAAA"}'), false],
    [part('{"url":"DATA:image/png;base64,AAAA"}'), false],
    [part('"data:image/png;base64,AAAA"'), false],
    ['{"messages":[{"content":"say \\"image_url\\": \\"http://a/\\""}]}', false],
    ['{"messages":[{"content":"the escape \\\\u0041 and \\u00e9 and \\u003c"}]}', false],
    ['{"tools":[{"function":{"parameters":{"properties":{"image_url":{"type":"string"}}}}}]}', false],
    ['{"messages":[{"content":"[http://a/]"}]}', false],
  ])("%.90s", (text, isRemote) => expect(hasRemoteMedia(Buffer.from(text), "chat")).toBe(isRemote));

  const nested = (count: number, inner: string): string =>
    `{"messages":${'{"image_url":{"a":'.repeat(count)}${inner}${"}}".repeat(count)}}`;
  it.each([
    ["media keys inside each other", 300_000, true, nested(200, `[${"0,".repeat(20_000)}0]`)],
    ["a few of them, as in a tool's schema", 150_000, false, nested(2, `[${"0,".repeat(20_000)}0]`)],
    ["escapes that follow each other", 200_000, false, `{"messages":"${"\\u00e9".repeat(20_000)}"}`],
  ])("%s are read at most %d times", (_name, readsMax, isRemote, text) => {
    const { bytes, reads } = countedBuffer(Buffer.from(text));
    expect(hasRemoteMedia(bytes, "chat")).toBe(isRemote);
    expect(reads()).toBeLessThan(readsMax);
  });

  it.each([
    ["escapes with a byte between them", 100, false, "\\u00e9x".repeat(10_000)],
    ["beginnings of escapes", 100, false, "\\\\u00\\\\u00".repeat(10_000)],
    ["escaped backslashes before letters", 100, false, "\\\\u0041".repeat(10_000)],
    ["more media keys than any request has", 100_100, true, `x","y":[${'"image_url",'.repeat(101_000)}0],"z":"`],
  ])("%s take at most %d native searches", (_name, callsMax, isRemote, text) => {
    const { bytes, calls } = countedBuffer(Buffer.from(`{"messages":"${text}"}`));
    expect(hasRemoteMedia(bytes, "chat")).toBe(isRemote);
    expect(calls()).toBeLessThan(callsMax);
  });

  it("are found by each escaped letter, and by no other escape", () => {
    for (let code = 0; code < 256; code++) {
      const character = String.fromCodePoint(code);
      for (const digits of [code.toString(16).padStart(2, "0"), code.toString(16).padStart(2, "0").toUpperCase()])
        expect(hasRemoteMedia(Buffer.from(`{"a":"\\u00${digits}"}`), "chat")).toBe(/^[A-Za-z_]$/.test(character));
    }
  });

  it("do not hide between escapes of other characters", () => {
    const hidden = part('{"url":"\\u00e9\\u00e9\\u0068ttp"}');
    expect(hasRemoteMedia(Buffer.from(hidden), "chat")).toBe(true);
  });

  it.each([
    ['{"messages":[{"content":[{"type":"image","source":{"type":"url","url":"http://a/"}}]}]}', true],
    ['{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"AA"}}]}]}', false],
    ['{"messages":[{"content":[{"type":"tool_use","input":{"image_url":"http://a/","source":"http://b/"}}]}]}', false],
  ])("Messages API: %.90s", (text, isRemote) => expect(hasRemoteMedia(Buffer.from(text), "messages")).toBe(isRemote));
});
