import { applyRequest } from "@headroom/protocol";
import { expect, it } from "vitest";
import { applyWarnings } from "./apply-warnings.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

it("tells of new work whose deadline is over, and of no other", () => {
  const fleet = SmallFleet.withNodes(1, 4);
  fleet.submit("known", { hold: true });
  const nowMs = Date.UTC(2026, 0, 2);
  const train = (name: string, deadlineMs?: number): object => ({ kind: "train", name, run: "true", deadlineMs });
  const workloads = [train("late", nowMs - 1000), train("soon", nowMs + 1000), train("known", 1), train("free")];
  const request = applyRequest.parse({ workloads });
  expect(applyWarnings(fleet.engine.state, request, nowMs)).toEqual([
    {
      team: "default",
      message: "The deadline of late was 2026-01-01T23:59:59Z and is over: it is taken all the same.",
    },
  ]);
});
