import { describe, expect, it } from "vitest";
import { ReplyParser } from "./reply-parser.ts";

const event = (n: number): string => `data: {"choices":[],"bench":{"n":${n},"t":${n}.5}}\n\n`;
const usage = 'data: {"usage":{"completion_tokens":3}}\n\ndata: [DONE]\n\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const stream = (...texts: readonly string[]): string =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${texts.map(chunk).join("")}0\r\n\r\n`;

function parsed(text: string, pieceLength = text.length): ReplyParser {
  const parser = new ReplyParser(true);
  parser.begin();
  for (let at = 0; at < text.length; at += pieceLength) parser.feed(Buffer.from(text.slice(at, at + pieceLength)));
  return parser;
}

describe("ReplyParser", () => {
  const whole = stream(event(0), event(1) + event(2).slice(0, 20), event(2).slice(20), usage);

  it.each([1, 2, 3, 7, 50, 10_000])("finds every event in pieces of %d bytes", (pieceLength) => {
    const parser = parsed(whole, pieceLength);
    expect(parser.isComplete).toBe(true);
    expect(parser.sentTimesMs).toEqual([0.5, 1.5, 2.5]);
    expect([parser.missingEvents(), parser.takeDoubled()]).toEqual([0, 0]);
  });

  it("counts lost and doubled events, and a missing end", () => {
    expect(parsed(stream(event(0), event(2), usage)).missingEvents()).toBe(1);
    expect(parsed(stream(event(0), event(0), event(1), usage)).takeDoubled()).toBe(1);
    expect(parsed(stream(event(0))).missingEvents()).toBe(1);
    expect(parsed(whole.slice(0, -5)).isComplete).toBe(false);
  });

  it("reads replies with a length, one after the other, and keeps the body of a failure", () => {
    const parser = new ReplyParser(false);
    for (let round = 0; round < 2; round += 1) {
      parser.begin();
      parser.feed(Buffer.from("HTTP/1.1 429 Too Many\r\ncontent-length: 5\r\n\r\nsl"));
      expect(parser.isComplete).toBe(false);
      parser.feed(Buffer.from("ow!"));
      expect([parser.isComplete, parser.status, parser.body]).toEqual([true, 429, "slow!"]);
    }
  });
});
