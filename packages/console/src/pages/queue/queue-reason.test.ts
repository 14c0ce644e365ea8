import type { QueueEntry } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { matchesQueueFilter, reasonBrief } from "./queue-reason.ts";

const entry: QueueEntry = {
  position: 0,
  workload: {
    id: "w9",
    name: "llama-ft",
    team: "research/nlp",
    kind: "train",
    phase: "pending",
    actor: "ada",
    priority: 0,
    gang: { workers: 4, accelerators: 8, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    tasks: { total: 1, waiting: 1, active: 0, succeeded: 0, failed: 0 },
    stopRequested: false,
    submittedAtMs: 0,
    firstStartedAtMs: null,
    endedAtMs: null,
    endReason: null,
    endSentence: null,
    progress: null,
  },
  reason: {
    kind: "acceleratorShortfall",
    acceleratorTypes: [],
    neededCount: 32,
    freeCount: 7,
    fleetCount: 512,
    sentence: "It needs 32 accelerators; 7 of 512 are free.",
  },
};

describe("the queue's filter", () => {
  it("takes a team with all teams below it, and not one whose name only begins alike", () => {
    const byTeam = (team: string): boolean => matchesQueueFilter(entry, { team, search: undefined });
    expect(["research", "research/nlp", "research/nl", "product"].map(byTeam)).toEqual([true, true, false, false]);
  });

  it("finds text in name, person and reason", () => {
    const byText = (search: string): boolean => matchesQueueFilter(entry, { team: undefined, search });
    expect(["LLAMA", "ada", "7 of 512", "w9", "bert"].map(byText)).toEqual([true, true, true, true, false]);
  });
});

describe("a reason in brief", () => {
  it("sets what is needed against what there is", () => {
    expect(reasonBrief(entry.reason)).toEqual({ word: "Too few free", amounts: "32 / 7" });
    expect(
      reasonBrief({
        kind: "teamLimit",
        bound: "limit",
        team: "t",
        acceleratorType: "A",
        resource: "A",
        limitCount: 10,
        usedCount: 12,
        neededCount: 4,
        sentence: "",
      }).amounts,
    ).toBe("4 / 0");
    expect(reasonBrief(null).word).toBe("Starting");
  });
});
