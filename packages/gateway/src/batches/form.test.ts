import { describe, expect, it } from "vitest";
import { countedBuffer } from "../testing/counted-buffer.ts";
import { formIn } from "./form.ts";

const type = "multipart/form-data; boundary=XX";
const part = (head: string, content: string): string => `--XX\r\n${head}\r\n\r\n${content}\r\n`;
const file = part(
  'Content-Disposition: form-data; name="file"; filename="a.jsonl"\r\nContent-Type: x/y',
  "{}\r\n--X\r\n",
);
const purpose = part('content-disposition: form-data; name="purpose"', "batch");

function shown(text: string, contentType = type): Record<string, readonly [string | undefined, string]> | undefined {
  const form = formIn(Buffer.from(text), contentType);
  if (form === undefined) return undefined;
  return Object.fromEntries([...form].map(([name, field]) => [name, [field.filename, field.content.toString()]]));
}

describe("a form", () => {
  const expected = { file: ["a.jsonl", "{}\r\n--X\r\n"], purpose: [undefined, "batch"] };
  it.each([
    [type, `${file}${purpose}--XX--\r\n`],
    ['multipart/form-data; charset=utf-8; boundary="XX"', `${purpose}${file}--XX--`],
    ["Multipart/Form-Data;boundary=XX", `${file}${purpose}${purpose}--XX--ignored`],
  ])("is read: %s", (contentType, text) => expect(shown(text, contentType)).toEqual(expected));

  it.each([
    ["application/x-www-form-urlencoded", "a=b"],
    ["application/x-www-form-urlencoded", "a=1&".repeat(1_000_000)],
    ["multipart/form-data", `${file}--XX--`],
    ["multipart/form-data; boundary=", `${file}--XX--`],
    [type, ""],
    [type, "--XX"],
    [type, "--XX--"],
    [type, `${file}`],
    [type, `preamble\r\n${file}--XX--`],
    [type, `${part('content-disposition: form-data; name="x"', "")}`.repeat(500_000)],
    [type, `--XX\r\n${"a: b\r\n".repeat(1_000_000)}\r\n\r\nx\r\n--XX--`],
    [type, "--XX\r\n".repeat(1_000_000)],
    [type, "\r\n--XX".repeat(1_000_000)],
    [`multipart/form-data; boundary=${"b".repeat(71)}`, file],
  ])("is refused, or empty, at once: %s %.40j", (contentType, text) => {
    const { bytes, reads } = countedBuffer(Buffer.from(text));
    expect(formIn(bytes, contentType)?.size ?? 0).toBe(0);
    // A few for each of the parts that a form may have.
    expect(reads()).toBeLessThan(200);
  });
});
