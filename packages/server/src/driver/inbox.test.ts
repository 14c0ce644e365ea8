import type { AttemptId } from "@headroom/model";
import { expect, it } from "vitest";
import { Inbox } from "./inbox.ts";

it("drops checkpoint signals beyond its limit, and no facts", () => {
  const inbox = new Inbox();
  const attemptId = "w1.1" as AttemptId;
  for (let index = 0; index < 5_000; index++) {
    inbox.addObserved({ kind: "checkpointReported", attemptId, step: index, path: "p" });
    inbox.addObserved({ kind: "attemptRunning", attemptId });
  }
  expect(inbox.length).toBe(4_096 + 5_000);
  expect(inbox.droppedCount).toBe(5_000 - 4_096);
  while (inbox.length > 0) inbox.take();
  expect(inbox.addObserved({ kind: "checkpointReported", attemptId, step: 1, path: "p" })).toBe(true);
});
