import { applyRequest } from "@headroom/protocol";
import { expect, it } from "vitest";
import { applyWarnings } from "./apply-warnings.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const nowMs = Date.UTC(2026, 0, 2);
const hourMs = 3_600_000;
const messages = (...workloads: readonly object[]): readonly string[] => {
  const documents = workloads.map((each) => ({ kind: "train", run: "true", ...each }));
  const request = applyRequest.parse({ workloads: documents });
  return applyWarnings(SmallFleet.withNodes(1, 4).engine.state, request, nowMs).map(({ message }) => message);
};

it("tells of new work that by its walltime may not be done by its deadline", () => {
  const deadlineMs = nowMs + hourMs;
  const noSooner = "it meets the deadline only if it ends before its walltime. It is accepted anyway.";
  expect(
    messages(
      { name: "long", deadlineMs, walltimeMs: 2 * hourMs },
      { name: "exact", deadlineMs, walltimeMs: hourMs },
      { name: "endless", deadlineMs },
      { name: "begun", deadlineMs, walltimeMs: hourMs, notBeforeMs: nowMs - hourMs },
      { name: "later", deadlineMs, walltimeMs: hourMs, notBeforeMs: nowMs + hourMs / 2 },
      { name: "never", deadlineMs, walltimeMs: hourMs, notBeforeMs: deadlineMs },
    ),
  ).toEqual([
    `The deadline of long is in 1 h, and its walltime is 2 h: ${noSooner}`,
    `The deadline of later is 30 min after its notBefore, and its walltime is 1 h: ${noSooner}`,
    `The deadline of never is not after its notBefore, and its walltime is 1 h: ${noSooner}`,
  ]);
});

it("tells of new work whose deadline is over, and of no other", () => {
  const fleet = SmallFleet.withNodes(1, 4);
  fleet.submit("known", { hold: true });
  const train = (name: string, deadlineMs?: number): object => ({ kind: "train", name, run: "true", deadlineMs });
  const workloads = [train("late", nowMs - 1000), train("soon", nowMs + 1000), train("known", 1), train("free")];
  const request = applyRequest.parse({ workloads });
  expect(applyWarnings(fleet.engine.state, request, nowMs)).toEqual([
    {
      team: "default",
      message: "The deadline of late, 2026-01-01T23:59:59Z, has passed. It is accepted anyway.",
    },
  ]);
});
