import type { LogChunk } from "@headroom/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LINES_MAX, LINE_CHARS_MAX, LogBuffer, searchLines } from "./log-buffer.ts";

const chunk = (text: string, worker = 0, stream: "stdout" | "stderr" = "stdout"): LogChunk => ({
  attemptId: "a1",
  worker,
  stream,
  atMs: null,
  text,
});

describe("the log buffer", () => {
  it("joins what was cut anywhere, stream by stream", () => {
    const text = fc.array(fc.stringMatching(/^[a-z ]{0,12}$/), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, text, fc.array(fc.nat(30), { maxLength: 20 }), (mine, yours, cuts) => {
        const buffer = new LogBuffer();
        let [a, b] = [`${mine.join("\n")}\n`, `${yours.join("\n")}\n`];
        for (const cut of cuts) {
          buffer.add([chunk(a.slice(0, cut), 0), chunk(b.slice(0, cut), 1)]);
          [a, b] = [a.slice(cut), b.slice(cut)];
        }
        buffer.add([chunk(a, 0), chunk(b, 1)]);
        const of = (worker: number): string[] =>
          buffer.lines.filter((line) => line.worker === worker).map(({ raw }) => raw);
        expect(of(0)).toEqual(mine);
        expect(of(1)).toEqual(yours);
      }),
    );
  });

  it("keeps the newest lines and counts what it dropped", () => {
    const buffer = new LogBuffer();
    buffer.add([chunk(Array.from({ length: LINES_MAX + 5 }, (_, index) => `line ${index}\n`).join(""))]);
    expect(buffer.lines.length).toBe(LINES_MAX);
    expect(buffer.droppedCount).toBe(5);
    expect(buffer.lines[0]?.raw).toBe("line 5");
  });

  it("cuts lines that never end", () => {
    const buffer = new LogBuffer();
    buffer.add([chunk("x".repeat(3 * LINE_CHARS_MAX))]);
    buffer.add([chunk("tail")]);
    buffer.finish();
    expect(buffer.lines.map(({ raw }) => raw.length)).toEqual([LINE_CHARS_MAX + 2, 4]);
  });

  it("is searched without its colours", () => {
    const buffer = new LogBuffer();
    buffer.add([chunk("ok\n\u001b[31mCUDA \u001b[1mout of\u001b[0m memory\nok\n", 2, "stderr")]);
    expect(searchLines(buffer.lines, "out of MEM")).toEqual([1]);
    expect(searchLines(buffer.lines, "")).toEqual([]);
  });
});
