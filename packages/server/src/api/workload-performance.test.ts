import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome(), { local: { nodeName: "n1", slotCount: 4, accelerators: "declared" } });
});
afterAll(async () => {
  vi.useRealTimers();
  await live.close();
  removeHome(live.home);
});

/** Each worker reports 40 steps at once, then one each second; rank 2 works 1.3 s on each from step 20 on. */
const run = `s=0; while [ $s -lt 100 ]; do t=1.0$((s % 3)); if [ $RANK = 2 ] && [ $s -ge 20 ]; then t=1.3; fi
echo "{\\"kind\\":\\"step\\",\\"worker\\":$RANK,\\"step\\":$s,\\"seconds\\":$t}" >> "$HEADROOM_PROGRESS_FILE"; s=$((s+1)); [ $s -ge 40 ] && sleep 1; done`;

describe("the performance of a running gang", () => {
  it("names the slow rank with its node, its slowdown and the step since when it is slow", async () => {
    const gang = { workers: 4, accelerators: 1 };
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "gang", run, gang });
    const ranks = async () => (await live.client.workloadPerformance(workloadId)).items[0]?.stragglers?.ranks ?? [];
    await expect.poll(ranks, { timeout: 20_000 }).toMatchObject([{ rank: 2, nodeId: "n1", sinceStep: 20 }]);
    const [item] = (await live.client.workloadPerformance(workloadId)).items;
    expect(item?.stragglers).toMatchObject({ comparedRanks: 4 });
    expect(item?.sentences[0]).toMatch(
      /^Rank 2 on n1 is (?:2\d|30)(?:\.\d)?% slower than the median of 4 ranks since step 20\.$/,
    );
    expect(item?.bottleneck).toBeNull();

    // A rank that is slow for ten minutes is a finding about its node.
    expect((await live.client.listFindings()).items).toEqual([]);
    const laterMs = Date.now() + 660_000;
    vi.useFakeTimers({ toFake: ["Date"], now: laterMs });
    await expect
      .poll(async () => (await live.client.listFindings()).items, { timeout: 20_000 })
      .toMatchObject([
        { id: `straggler:${workloadId}:n1`, change: { kind: "advice", about: `ranks of ${workloadId} on node n1` } },
      ]);
    // Other teams do not see it.
    await expect
      .poll(async () => (await live.client.listProposals()).items, { timeout: 10_000 })
      .toMatchObject([{ team: "default", change: { kind: "advice" } }]);
    await live.client.stopWorkload(workloadId);
    await expect(live.client.workloadPerformance("w999")).rejects.toMatchObject({ code: "unknownWorkload" });
  });
});
