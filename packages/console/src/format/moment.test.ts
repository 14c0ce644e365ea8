import { describe, expect, it } from "vitest";
import { momentText } from "./moment.ts";

const at = (day: number, hour: number): number => new Date(2026, 0, day, hour, 35, 1).getTime();

describe("the text of an instant", () => {
  it("is the time alone today, and has the date on every other day", () => {
    expect(momentText(at(6, 23), at(6, 0))).toBe("23:35:01");
    expect(momentText(at(7, 2), at(6, 15))).toBe("7 Jan 02:35:01");
    expect(momentText(at(5, 23), at(6, 0))).toBe("5 Jan 23:35:01");
  });
});
