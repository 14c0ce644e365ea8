import { teamName } from "@headroom/model";
import type { WorkloadSpec } from "@headroom/model";
import { ADOPTED_WORK_VARIABLE } from "@headroom/executors";
import type { WaitingWork, WorkAdoption } from "@headroom/executors";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileExecutor } from "../driver/testing/file-executor.ts";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

/** Its one slot is smaller than the work that waits. */
class AdoptingExecutor extends FileExecutor implements WorkAdoption {
  readonly adoption = this;
  work: readonly WaitingWork[] = [];
  isDenied = false;
  askedCount = 0;

  waiting(): readonly WaitingWork[] {
    return this.work;
  }

  async isGone(): Promise<boolean> {
    this.askedCount += 1;
    return this.isDenied;
  }

  tell(): void {}
}

function workOf(name: string, team: string): WaitingWork {
  const key = `local:${name}`;
  const spec: WorkloadSpec = {
    kind: "train",
    name,
    team: teamName(team),
    run: "exit 1",
    dir: null,
    env: { [ADOPTED_WORK_VARIABLE]: key },
    gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 1_000, backoffMaxMs: 1_000 },
    graceTimeoutMs: 1_000,
    checkpointDir: null,
    nodeSelector: { none: "such" },
  };
  return { key, actor: `kubernetes:${team}`, spec };
}

async function startWith(executor: AdoptingExecutor) {
  const live = await startLive(home, { executors: [executor] });
  const phaseOf = async (name: string): Promise<string | undefined> =>
    (await live.client.listWorkloads({})).items.find((each) => each.name === name)?.phase;
  return { live, phaseOf };
}

describe("work that waits behind an executor", () => {
  it("is submitted although hundreds of others before it are refused", { timeout: 30_000 }, async () => {
    const executor = new AdoptingExecutor({ directory: home, slots: 1, runMs: 1 });
    executor.work = [
      ...Array.from({ length: 450 }, (_, index) => workOf(`refused-${index}`, "unknown")),
      workOf("good", "default"),
    ];
    const { live, phaseOf } = await startWith(executor);
    await expect.poll(() => phaseOf("good"), { timeout: 20_000 }).toBe("pending");
    await live.close();
  });

  it("is stopped when the system denies it, and not because a list lacks it", { timeout: 60_000 }, async () => {
    const executor = new AdoptingExecutor({ directory: home, slots: 1, runMs: 1 });
    executor.work = [workOf("pods", "default")];
    const { live, phaseOf } = await startWith(executor);
    await expect.poll(() => phaseOf("pods"), { timeout: 20_000 }).toBe("pending");
    executor.work = [];
    await expect.poll(() => executor.askedCount, { timeout: 20_000 }).toBeGreaterThan(4);
    expect(await phaseOf("pods")).toBe("pending");
    executor.isDenied = true;
    await expect.poll(() => phaseOf("pods"), { timeout: 20_000 }).toBe("cancelled");
    await live.close();
  });
});
