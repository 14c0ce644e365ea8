import { describe, expect, it } from "vitest";
import { afterCarriageReturns, markMatches, parseAnsi, plainText } from "./ansi.ts";

describe("colours in logs", () => {
  it("are kept where a terminal would show them", () => {
    expect(parseAnsi("a \u001b[1;31mred\u001b[0m b")).toEqual([
      { text: "a ", colour: null, isBold: false, isDim: false },
      { text: "red", colour: 1, isBold: true, isDim: false },
      { text: " b", colour: null, isBold: false, isDim: false },
    ]);
    expect(parseAnsi("\u001b[92mbright\u001b[39mplain").map(({ colour }) => colour)).toEqual([2, null]);
  });

  it("do not swallow text after colours of other kinds", () => {
    expect(plainText("\u001b[38;5;208morange\u001b[38;2;1;2;3mrgb\u001b[m")).toBe("orangergb");
    expect(parseAnsi("\u001b[38;5;31mx\u001b[1my").map(({ text, colour, isBold }) => [text, colour, isBold])).toEqual([
      ["x", null, false],
      ["y", null, true],
    ]);
  });

  it("never let a log move the cursor, set a title or link somewhere", () => {
    const nasty =
      "\u001b[2J\u001b[1;1Hover\u001b]0;title\u0007 \u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\\u0000\u0008!";
    expect(plainText(nasty)).toBe("over link!");
  });

  it("do not hide what is searched for from sight", () => {
    const marked = markMatches(parseAnsi("a step \u001b[32m7\u001b[0m of 9, Step 7 of 9"), "step 7 of");
    expect(marked.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toEqual(["step ", "7", " of", "Step 7 of"]);
    expect(marked.map(({ text }) => text).join("")).toBe("a step 7 of 9, Step 7 of 9");
    expect(markMatches(parseAnsi("aaa"), "a").map(({ text, isMatch }) => [text, isMatch])).toEqual([
      ["a", true],
      ["a", true],
      ["a", true],
    ]);
    expect(markMatches(parseAnsi("abc"), "")).toMatchObject([{ text: "abc", isMatch: false }]);
  });

  it("show what a progress bar wrote last", () => {
    expect(afterCarriageReturns("10%\r50%\r100%\r")).toBe("100%");
    expect(afterCarriageReturns("plain")).toBe("plain");
  });
});
