import { describe, expect, it } from "vitest";
import { playKueueQuota } from "./kueue-quota.ts";

type QuotaScenario = Parameters<typeof playKueueQuota>[0];

/** Two queues of one cohort. The second has reclaimable work on the quota of the first, in amounts of `unit`. */
function scenario(unit: number): QuotaScenario {
  const job = (name: string, queue: string, amount: number): object => ({
    name,
    queue,
    priority: 0,
    pods: 1,
    gpusPerPod: amount * unit,
  });
  return {
    id: "quota",
    dialect: "kueue-quota",
    name: "quota in units",
    queues: ["a", "b"].map((name) => ({
      name,
      parent: "cohort",
      quota: 4 * unit,
      preemptionPolicy: { reclaimWithinCohort: "Any" },
    })),
    runningJobs: [job("lent", "b", 4), job("own", "b", 4)],
    pendingJobs: [job("incoming", "a", 4)],
    expected: { victims: { lent: "InCohortReclamation" }, incomingCanProceed: true },
  } as unknown as QuotaScenario;
}

describe("quotas", () => {
  const expected = playKueueQuota(scenario(1));
  it.for([2 ** 20, 2 ** 30, 4 * 2 ** 30, 1_000_000_000, 3_000_000_000, 12_345_678_901])(
    "stated in units of %i bytes are played like quotas in accelerators",
    (unit) => {
      expect(playKueueQuota(scenario(unit))).toEqual(expected);
    },
  );

  it("with amounts that share no unit are refused", () => {
    const odd = scenario(4_294_967_296);
    const { queues } = odd as unknown as { queues: { quota: number }[] };
    queues[0]!.quota += 1;
    expect(() => playKueueQuota(odd)).toThrow("state it in larger units");
  });
});
