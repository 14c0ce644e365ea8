import { expect, it } from "vitest";
import { notReady } from "./readiness.ts";

const healthy = { phase: "running", paused: null, inboxLength: 0, inboxLimit: 10 } as const;

it.each([
  [{}, []],
  [{ paused: "the disk is full" }, ["paused"]],
  [{ inboxLength: 10 }, ["overloaded"]],
  [{ inboxLength: 10, paused: "x" }, ["paused", "overloaded"]],
  [{ phase: "closing" as const }, ["closing"]],
  [{ phase: "failed" as const, paused: "x" }, ["failed"]],
])("%j gives the reasons %j", (change, codes) => {
  const reasons = notReady({ ...healthy, ...change });
  expect(reasons.map(({ code }) => code)).toEqual(codes);
  // The answer is open, so the text of the pause, which names paths, must not be in it.
  expect(JSON.stringify(reasons)).not.toContain("disk");
});
