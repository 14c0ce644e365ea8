import { describe, expect, it } from "vitest";
import { cronText } from "./cron-text.ts";

describe("a cron expression in words", () => {
  it("names days and hours", () => {
    expect(cronText("0 1 * * *")).toBe("every day at 01:00");
    expect(cronText("30 6,18 * * *")).toBe("every day at 06:30, 18:30");
    expect(cronText("0 6 * * 1")).toBe("every Monday at 06:00");
    expect(cronText("5 6 * * 0,3")).toBe("every Sunday and Wednesday at 06:05");
    expect(cronText("0 22 * * 1-5")).toBe("Monday to Friday at 22:00");
    expect(cronText("0 0,2,4,6,8,10,12,14,16,18,20,22 * * *")).toBe("every 2 hours from 00:00");
    expect(cronText("15 * * * *")).toBe("every hour at minute 15");
  });

  it("leaves alone what words do not make clearer", () => {
    for (const cron of ["*/5 * * * *", "0 0 1 * *", "0 1,2,3,5,8 * * *", "0 * * * 1", "0 1 * 2 *", ""])
      expect(cronText(cron)).toBe(null);
  });
});
