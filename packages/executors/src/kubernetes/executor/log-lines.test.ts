import { describe, expect, it } from "vitest";
import type { LogLine } from "./log-lines.ts";
import { LOG_START, LogLines, sinceTimeOf } from "./log-lines.ts";

const text = (lines: readonly LogLine[]): string => lines.map((line) => line.text.toString()).join("|");
const at = (fraction: string): string => `2026-01-31T08:15:00${fraction}Z`;

describe("the lines of a container's log", () => {
  it("takes times off, whatever the pieces in which the log comes", () => {
    const log = Buffer.from(`${at(".1")} one\n${at(".123456789")} two ö\n${at("")} \n${at(".5")} unfinished`);
    for (let size = 1; size < log.length; size += 3) {
      const lines = new LogLines(LOG_START);
      const found: LogLine[] = [];
      for (let from = 0; from < log.length; from += size) found.push(...lines.push(log.subarray(from, from + size)));
      found.push(...lines.end());
      expect(text(found)).toBe("one\n|two ö\n|\n|unfinished");
      expect(found.map(({ atMs }) => (atMs ?? 0) % 1_000)).toEqual([100, 123, 0, 500]);
    }
  });

  it("goes on after the last line, among lines of one time and of one second", () => {
    const first = new LogLines(LOG_START);
    first.push(Buffer.from(`${at(".1")} a\n${at(".2")} b\n${at(".2")} c\n`));
    expect(sinceTimeOf(first.place)).toBe("2026-01-31T08:15:00Z");
    const second = new LogLines(first.place);
    const again = `${at(".1")} a\n${at(".2")} b\n${at(".2")} c\n${at(".2")} d\n${at(".15")} late\n${at(".3")} e\n`;
    expect(text(second.push(Buffer.from(again)))).toBe("d\n|e\n");
    expect(second.place).toEqual({ time: "2026-01-31T08:15:00.300000000", lines: 1 });
  });

  it("reads times with an offset, and passes on lines without a time", () => {
    const lines = new LogLines(LOG_START);
    const found = lines.push(Buffer.from("2026-01-31T10:15:00.5+02:00 x\nfailed to watch file\n"));
    expect(found.map(({ atMs }) => atMs)).toEqual([Date.parse("2026-01-31T08:15:00.500Z"), null]);
    expect(text(found)).toBe("x\n|failed to watch file\n");
  });

  it("passes on a very long line in pieces, and skips it as a whole", () => {
    const long = `${at(".1")} ${"x".repeat(200_000)}\n${at(".2")} end\n`;
    const lines = new LogLines(LOG_START);
    const found: LogLine[] = [];
    for (let from = 0; from < long.length; from += 10_000)
      found.push(...lines.push(Buffer.from(long.slice(from, from + 10_000))));
    expect(text(found).replaceAll("|", "")).toBe(`${"x".repeat(200_000)}\nend\n`);
    const again = new LogLines({ time: "2026-01-31T08:15:00.100000000", lines: 1 });
    const rest: LogLine[] = [];
    for (let from = 0; from < long.length; from += 10_000)
      rest.push(...again.push(Buffer.from(long.slice(from, from + 10_000))));
    expect(text(rest)).toBe("end\n");
  });
});
