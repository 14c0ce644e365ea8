import { describe, expect, it } from "vitest";
import { utf8Decode, utf8Encode } from "./utf8.ts";

describe("UTF-8", () => {
  it.each(["", "plain", "\ufeffmarked", "é界\u{1f600}".repeat(10_000)])("comes back whole", (text) => {
    expect(utf8Decode(utf8Encode(text)) === text).toBe(true);
  });

  it("puts a replacement where there is no letter", () => {
    expect(utf8Decode(utf8Encode("\ud800x"))).toBe("\ufffdx");
    expect(utf8Decode(Uint8Array.of(0x80, 0x61))).toBe("\ufffda");
  });
});
