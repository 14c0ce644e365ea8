import { describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

const event = (node_id: string, event_type: string, event_time: number): object => ({
  node_id,
  event_time,
  event_type,
  fault_type: { Level: "Hardware Failure", Class: "GPU", Desc: "x" },
});
const trace = Array.from({ length: 40 }, (_, day) => [
  event(`n${day}`, "fault_start", day + 0.5),
  event(`n${day}`, "fault_end", day + 2.5),
]).flat();
const spares = async (input: unknown, ...args: readonly string[]): ReturnType<typeof headroom> =>
  headroom(["health", "spares", "-", ...args], {
    workingDirectory: "/",
    stdin: typeof input === "string" ? input : JSON.stringify(input),
  });

describe("headroom health spares", () => {
  it("forecasts from the first days and compares with the rest", async () => {
    const { code, stdout } = await spares(trace, "--fit-days", "24", "--json");
    expect(code).toBe(0);
    const answer = JSON.parse(stdout) as { p99_concurrent: number; spares: number };
    expect(answer).toMatchObject({
      fit: { from_day: 0, days: 24, fault_count: 24, observed_p99: 2 },
      rest: { actual_p99_concurrent: 2 },
    });
    expect(answer.p99_concurrent).toBeGreaterThanOrEqual(2);
    expect(answer.p99_concurrent).toBeLessThanOrEqual(3);
    expect(answer.spares).toBe(answer.p99_concurrent);
  });

  it("counts the days of the later part of a trace from its first event", async () => {
    const later = trace.map((each) => ({ ...each, event_time: (each as { event_time: number }).event_time + 500 }));
    const { stdout } = await spares(later, "--fit-days", "24", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ fit: { from_day: 500, fault_count: 24 } });
    expect((await spares(trace, "--fit-days", "90")).stdout).toMatch(/spares +\d nodes/);
  });

  it.each([
    ["{", ["--fit-days", "3"], "no JSON"],
    [[], ["--fit-days", "3"], "expected an array of fault events"],
    [trace, [], "--fit-days: expected the number of days"],
    [trace, ["--fit-days", "0.1"], "no fault starts in the first 0.1 days"],
    [[{ node_id: "a" }], ["--fit-days", "3"], "event 1: event_time: expected a number of days"],
    [[event("a", "fault", 1)], ["--fit-days", "3"], "event_type: expected fault_start or fault_end"],
  ])("refuses %j %j", async (input, args, message) => {
    const { code, stderr } = await spares(input, ...args);
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([2, message]);
  });
});
