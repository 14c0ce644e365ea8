/** Families of accelerator types, and pools whose accelerators change, in generated worlds: an independent recount agrees after every batch. */
import { checkInvariants } from "@headroom/engine-oracle";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runsOf, sliceOf } from "../../../../tools/testing/rotating.ts";
import { poolName } from "@headroom/model";
import type { Input } from "@headroom/model";
import { restoreEngine } from "../../src/index.ts";
import type { Engine } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { Story } from "./play.ts";
import { worlds } from "./worlds.ts";
import type { World } from "./worlds.ts";

const FAMILY = "GPU";

/** Requests for H100 and quotas of A100 name the family of both. */
function withFamily(world: World): World {
  const text = JSON.stringify(world)
    .replaceAll('"acceleratorTypes":["H100"]', `"acceleratorTypes":["${FAMILY}"]`)
    .replaceAll('"A100":', `"${FAMILY}":`);
  return JSON.parse(text) as World;
}

/** Every pool of a type has the family. */
const inFamily = (inputs: readonly Input[]): readonly Input[] =>
  inputs.map((input) =>
    input.kind === "apply"
      ? {
          ...input,
          pools: input.pools.map((pool) =>
            pool.acceleratorType === "" ? pool : { ...pool, acceleratorFamily: FAMILY },
          ),
        }
      : input,
  );

/** In every third step the accelerators of the A100 pool change, and every node registers again. */
function changes({ state }: Engine, step: number): readonly Input[] {
  if (step % 3 !== 2) return [];
  const other = { acceleratorType: "L40S" } as const;
  const before = { acceleratorType: "A100", acceleratorFamily: FAMILY } as const;
  const seen = [...state.nodes.values()]
    .filter(({ health }) => health === "up")
    .map(({ id, pool, fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax }): Input => {
      const optional = {
        ...(labels === undefined ? {} : { labels }),
        ...(workersMax === undefined ? {} : { workersMax }),
      };
      return { kind: "nodeSeen", node: { id, pool, fabric, acceleratorCount, coresMilli, memoryMib, ...optional } };
    });
  return [{ kind: "acceleratorsSeen", pool: poolName("A100"), ...(step % 2 === 0 ? other : before) }, ...seen];
}

describe("families and changed accelerators in every generated world", () => {
  it("keep every invariant, and a restored engine decides the same", () => {
    let changedCount = 0;
    let familyCount = 0;
    fc.assert(
      fc.property(worlds.map(withFamily), (world) => {
        const drive = new Drive();
        const story = new Story();
        let twin: Engine | null = null;
        const receive = (...inputs: readonly Input[]): void => {
          twin = restoreEngine(drive.engine.snapshot());
          const ready = drive.receive(...inputs);
          const same = twin.receive(inputs, drive.nowMs);
          expect(JSON.stringify([same.events, same.effects])).toBe(JSON.stringify([ready.events, ready.effects]));
          story.remember(ready);
          for (const event of ready.events) {
            if (event.kind === "gangPlaced" && event.acceleratorType === "L40S") changedCount++;
            const accepted =
              event.kind === "gangPlaced"
                ? drive.engine.state.workloads.get(event.workloadId)?.spec.acceleratorTypes
                : [];
            if (accepted?.includes(FAMILY) === true) familyCount++;
          }
        };
        receive(...inFamily(story.capacityEpoch(world)));
        for (const [at, step] of world.steps.entries()) {
          drive.nowMs += step.waitMs;
          receive(...inFamily(story.inputs(step, drive.engine)));
          const changed = changes(drive.engine, at);
          if (changed.length > 0) receive(...changed);
        }
        expect(checkInvariants(drive.engine)).toEqual([]);
      }),
      runsOf(100),
    );
    expect(Math.min(changedCount, familyCount)).toBeGreaterThan(sliceOf({ size: 100 }).least(10));
  });
});
