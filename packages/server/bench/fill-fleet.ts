/** Submits runs to a control plane under measurement until all of them run. */
import { setTimeout as sleep } from "node:timers/promises";
import { teamName } from "@headroom/model";
import type { Driver } from "../src/driver/driver.ts";

const SUBMITTED_AT_ONCE = 500;

interface Filling {
  readonly attempts: number;
  readonly acceleratorsEach: number;
}

export async function fillFleet(driver: Driver, { attempts, acceleratorsEach }: Filling): Promise<void> {
  const gang = { workers: 1, accelerators: acceleratorsEach, coresMilli: 0, memoryMib: 0 };
  const retries = { max: 0, backoffMs: 0, backoffMaxMs: 0 };
  const common = { team: teamName("default"), run: "true", dir: null, env: {}, acceleratorTypes: [], walltimeMs: null };
  for (let first = 0; first < attempts; first += SUBMITTED_AT_ONCE) {
    const count = Math.min(SUBMITTED_AT_ONCE, attempts - first);
    const submitted = Array.from({ length: count }, (_, index) => {
      const name = `run-${first + index}`;
      const rest = { priority: 0, retries, graceTimeoutMs: 1_000, checkpointDir: null };
      const spec = { kind: "train" as const, name, ...common, gang, ...rest };
      return driver.command({ kind: "submitWorkload", spec, actor: "bench", idempotencyKey: null });
    });
    await Promise.all(submitted);
  }
  for (;;) {
    const running = await driver.read(
      ({ state }) => [...state.attempts.values()].filter(({ phase }) => phase === "running").length,
    );
    if (running === attempts) break;
    await sleep(100);
  }
  // Waits until the journal's log is folded and a digest is recorded. The measurement begins afterwards.
  await sleep(6_000);
}
