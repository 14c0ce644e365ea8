import { attemptId, nodeId, workloadId } from "@headroom/model";
import type { Event } from "@headroom/model";
import { expect, it } from "vitest";
import { logOfEvent } from "./decision-logs.ts";

const ended = (outcome: "succeeded" | "failed" | "lost" | "stopped"): Event => ({
  kind: "attemptEnded",
  version: 1,
  atMs: 5,
  attemptId: attemptId("w1.1"),
  outcome,
  exit: null,
  detail: "",
  retryAtMs: null,
});

it("warns of attempts that failed or were lost, and not of those that were stopped", () => {
  const severities = (["succeeded", "stopped", "failed", "lost"] as const).map(
    (outcome) => logOfEvent(1, ended(outcome), null)?.severity,
  );
  expect(severities).toEqual(["INFO", "INFO", "WARN", "WARN"]);
});

it("names the faults of a node with their severity and device", () => {
  const faults = [
    { code: "xid-79", severity: "critical", device: "0000:3b:00", detail: "fell off the bus" },
    { code: "smart-5", severity: "warning", detail: "" },
  ] as const;
  const event: Event = {
    kind: "faultsReported",
    version: 1,
    atMs: 5,
    nodeId: nodeId("n1"),
    faults,
    actor: "collector",
  };
  expect(logOfEvent(2, event, null)).toMatchObject({
    severity: "WARN",
    attributes: { "headroom.nodeId": "n1", "headroom.faults": "critical xid-79 0000:3b:00, warning smart-5" },
  });
});

it("leaves the ids of an event in its attributes", () => {
  const event: Event = {
    kind: "workloadHeld",
    version: 1,
    atMs: 5,
    workloadId: workloadId("w1"),
    actor: "ada",
  };
  expect(logOfEvent(3, event, "0".repeat(32))?.attributes).toMatchObject({ "headroom.workloadId": "w1" });
});
