/** The kinds of event that can change a verdict, as one line for operators. */
import type { EventKind } from "@headroom/model";

const groups: readonly (readonly [text: string, kinds: readonly EventKind[]])[] = [
  [
    "capacity is freed",
    [
      "attemptEnded",
      "workersLeft",
      "joinFailed",
      "nominationWithdrawn",
      "foreignUseChanged",
      "hotSpareReleased",
      "opportunisticJobRelabelled",
    ],
  ],
  [
    "the fleet changes",
    [
      "nodeJoined",
      "nodeChanged",
      "nodeRelabelled",
      "nodeReturned",
      "nodeResumed",
      "nodeQualificationRequired",
      "nodeQualificationEnded",
      "nodeLost",
      "nodeDrainStarted",
      "nodeRemovalRequested",
      "nodeRemovalCancelled",
      "nodeRemoved",
      "executorDeclared",
      "executorLost",
      "executorReturned",
      "executorRemoved",
      "hotSpareReserved",
      "siteDefined",
      "poolDefined",
    ],
  ],
  [
    "a capacity order changes",
    ["capacityOrderCreated", "capacityOrderAdvanced", "capacityOrderCancelled", "capacityOrderDecided"],
  ],
  ["a limit or the policy changes", ["teamDefined", "teamRemoved", "policySet"]],
  ["the queue changes", ["gangPlaced", "workloadStopRequested", "attemptStopRequested", "gangShrinkRequested"]],
  ["a workload ends", ["workloadEnded"]],
  ["its artifact is produced", ["artifactRecorded", "artifactRegistered"]],
  ["a user releases it", ["workloadReleased"]],
  ["its start window opens", ["startWindowOpened", "startWindowClosed"]],
  ["the budget is renewed", ["budgetRenewed"]],
  ["the calendar changes", ["calendarSet", "calendarRemoved", "windowBegan", "windowEnded"]],
];

/** A line such as `Will be re-checked when capacity is freed or the fleet changes.`; `null`: no event is awaited. */
export function wakeSentence(wakeOn: readonly string[]): string | null {
  const kinds = new Set(wakeOn);
  const texts = groups.flatMap(([text, of]) => (of.some((kind) => kinds.has(kind)) ? [text] : []));
  const last = texts.pop();
  if (last === undefined) return null;
  return `Will be re-checked when ${texts.length === 0 ? last : `${texts.join(", ")} or ${last}`}.`;
}
