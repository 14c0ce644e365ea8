import type { BlockedReason, QueueEntry } from "@headroom/protocol";
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
    nodes: [],
    acceleratorMs: 0,
    tasks: { total: 1, waiting: 1, active: 0, succeeded: 0, failed: 0 },
    stopRequested: false,
    submittedAtMs: 0,
    firstStartedAtMs: null,
    endedAtMs: null,
    endReason: null,
    rerunnable: false,
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
    expect(reasonBrief(entry.reason)).toEqual({
      word: "Too few free",
      amounts: "32 / 7",
      named: "32 needed, 7 free",
    });
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

  it("is about what the fleet lacks where that is no count of accelerators", () => {
    const counts = { workers: 3, placeableWorkers: 2, neededCount: 3, fleetCount: 16 };
    const exceeds = { kind: "exceedsFleet" as const, acceleratorTypes: ["H100"], ...counts, sentence: "" };
    const amounts = (lack: (BlockedReason & { readonly kind: "exceedsFleet" })["lack"]): string =>
      reasonBrief({ ...exceeds, lack }).amounts;
    expect(amounts({ of: "memory", perWorker: 6_144, perNodeMax: 4_096 })).toBe("6 GiB / 4 GiB");
    expect(amounts({ of: "memory", perWorker: 4_096, perNodeMax: 4_096 })).toBe("3 / 2");
    expect(amounts({ of: "cores", perWorker: 2_000, perNodeMax: 1_000 })).toBe("2 cores / 1 core");
    expect(amounts({ of: "spread" })).toBe("3 / 2");
    expect(amounts({ of: "executor" })).toBe("3 / 2");
    expect(amounts({ of: "part", profile: "3g.40gb" })).toBe("3g.40gb");
    expect(amounts({ of: "type" })).toBe("H100");
    expect(amounts({ of: "nodeSelector" })).toBe("3 / 16");
    expect(reasonBrief({ ...exceeds, lack: { of: "spread" } }).named).toBe("3 workers, 2 fit");
    expect(reasonBrief(exceeds).named).toBe("3 needed, 16 in the fleet");
  });
});
