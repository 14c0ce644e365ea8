import type { WorkloadId } from "@headroom/model";
import type { LoadReport } from "@headroom/protocol";
import { expect, it } from "vitest";
import { OverflowCharges } from "./overflow-charges.ts";

it("charges a lower counter if it stays lower for a minute, and a late report never", async () => {
  const charged: number[] = [];
  const gateways = [{ gateway: "g1", startedAtMs: 1, microUsd: 900 }];
  const state = { workloads: new Map([["w1", { account: { gateways } }]]) };
  let nowMs = 0;
  const charges = new OverflowCharges({
    driver: {
      read: async (look: (engine: never) => unknown) => look({ state } as never),
      command: async ({ microUsd }: { readonly microUsd: number }) => {
        charged.push(microUsd);
        return { kind: "done" };
      },
    } as never,
    log: { info: () => undefined, warn: (message: string) => expect.unreachable(message) } as never,
    nowMs: () => nowMs,
  });
  const look = async (microUsd: number): Promise<void> => {
    nowMs += 60_000;
    const report = { gateway: "g1", startedAtMs: 1, overflow: { nanoUsd: microUsd * 1_000 } } as LoadReport;
    charges.begin(["w1" as WorkloadId], () => [report]);
    await new Promise((resolve) => setImmediate(resolve));
  };
  for (const microUsd of [899, 900, 899, 901]) await look(microUsd);
  expect(charged).toEqual([901]);
  for (const microUsd of [3, 5]) await look(microUsd);
  expect(charged).toEqual([901, 5]);
  await charges.close();
  await look(7);
  expect(charged).toEqual([901, 5]);
});
