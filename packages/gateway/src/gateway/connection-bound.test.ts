import { describe, expect, it } from "vitest";
import { connectionBound, connectionsWithin, openFilesMax } from "./connection-bound.ts";

const limits = `Limit                     Soft Limit           Hard Limit           Units
Max processes             96202                96202                processes
Max open files            1024                 524288               files
`;

describe("the bound of client connections", () => {
  it("leaves a file descriptor for each client's replica, and some for the gateway", () => {
    expect(openFilesMax(limits)).toBe(1024);
    expect(connectionsWithin(20_000, 1024)).toBe(384);
    expect(connectionsWithin(100, 1024)).toBe(100);
    expect(connectionsWithin(20_000, 64)).toBe(1);
  });

  it("is the configured one where no limit is known", () => {
    expect(openFilesMax(limits.replace("1024 ", "unlimited "))).toBeUndefined();
    expect(openFilesMax("")).toBeUndefined();
    expect(connectionsWithin(20_000, undefined)).toBe(20_000);
  });

  it("is told to the operator where it is lower than configured", () => {
    const lines: string[] = [];
    const bound = connectionBound(1_000_000_000, (line) => lines.push(line));
    if (bound === 1_000_000_000) expect(lines).toEqual([]);
    else expect(lines).toEqual([expect.stringContaining(`at most ${bound} clients are accepted`) as string]);
  });
});
