/** The collections are in `testing/`: lines with the fault that each is, and ordinary lines. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readFault } from "./read-fault.ts";

const lines = (file: string): readonly string[] =>
  readFileSync(path.join(import.meta.dirname, "testing", file), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("# "));

/** `code | device | severity | line`; the line may contain the separator and starts after one blank. */
function expectation(row: string): readonly [string, string] {
  const match = /^(\S+) \| (.+?) \| (info|warning|critical) \| (.*)$/.exec(row);
  const [, code = "", device = "", severity = "", line = ""] = match ?? [];
  return [line, `${code} | ${device} | ${severity}`];
}

const seen = (line: string): string => {
  const fault = readFault(line);
  return fault === null ? "none" : `${fault.code} | ${fault.device ?? "-"} | ${fault.severity}`;
};

describe("faults in log lines", () => {
  it("finds code, device and severity of every line of the collection", () => {
    const expected = lines("faults.txt").map(expectation);
    expect(expected.length).toBeGreaterThanOrEqual(150);
    expect(expected.map(([line]) => [line, seen(line)])).toEqual(expected);
  });

  it("finds them behind the prefixes of syslog, journal, dmesg and containers", () => {
    const wrapped = [
      (line: string) => `Nov 28 10:17:53 gpu01 kernel: [123456.789012] ${line}`,
      (line: string) => `2026-11-28T10:17:53,123456+00:00 ${line}`,
      (line: string) => `[Sat Nov 28 10:17:53 2026] ${line}`,
      (line: string) => `<11>1 2026-11-28T10:17:53Z gpu01 kernel - - - ${line}`,
      (line: string) => JSON.stringify({ MESSAGE: line, _HOSTNAME: "gpu01" }),
      (line: string) => `2026-11-28T10:17:53Z stderr F ${line}`,
    ];
    // Texts of nvidia-smi and of the node's controller are whole lines of their own.
    const messages = lines("faults.txt")
      .map(expectation)
      .filter(([line]) => !/^[\s|{<\d]|^(?:No devices|CPU1 Temp)/.test(line) && !line.startsWith("["));
    for (const wrap of wrapped) expect(messages.map(([line]) => [line, seen(wrap(line))])).toEqual(messages);
  });

  it("finds no fault in ordinary lines", () => {
    const benign = lines("benign.txt");
    expect(benign.length).toBeGreaterThanOrEqual(100);
    expect(benign.map((line) => [line, seen(line)])).toEqual(benign.map((line) => [line, "none"]));
  });

  it("stays quick on hostile lines", () => {
    for (const part of [
      "GPU 0 ",
      "Xid (",
      "NVLink ",
      "ECC ",
      "mlx5_core 0000:5e:00.0 ",
      "Temp | ",
      "Fan ",
      "{",
      "LustreError: a-OST0000",
    ]) {
      expect(readFault(part.repeat(20_000))?.code).not.toBe("none");
    }
  });
});
