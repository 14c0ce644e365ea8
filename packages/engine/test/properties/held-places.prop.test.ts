/**
 * Gangs of parts of nodes count on idle parts beside ordered nodes, and smaller work starts around the held parts. After each
 * batch, the oracle (`Drive`) finds work that waits although it fits beside what is held, and verdicts that say otherwise.
 */
import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { isOutstanding, nodeId, presets } from "@headroom/model";
import type { CapacityOrder, Input, Policy } from "@headroom/model";
import { Dice } from "../lab/dice.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec } from "../lab/make.ts";

const { seeds } = sliceOf({ size: 60, parts: 10, found: [2, 9] });

const preset = (name: string): Policy => presets.get(name) as Policy;
/** Asks each request once in a round. */
const once: Policy = { ...preset("kai"), name: "kai-once", phases: ["place"] };
const policies = [once, once, ...["fifo-skip", "best-fit", "volcano-capacity", "kueue-fair-sharing"].map(preset)];

const MINUTE = 60_000;

function fleet(dice: Dice): Input[] {
  const burst = {
    provisioner: dice.pick(["test", "manual"]),
    nodesMax: 20,
    acceleratorCount: 8,
    coresMilli: 64_000,
    memoryMib: 524_288,
    leadTimeMs: dice.between(1, 59) * MINUTE,
    leadTimeP95Ms: 60 * MINUTE,
    orderAfterMs: 0,
    releaseAfterMs: 5 * MINUTE,
  };
  return [
    applied({ sites: [site], pools: [{ ...pool("H100"), burst }] }),
    command({ kind: "setPolicy", policy: dice.pick(policies) }),
    ...Array.from({ length: dice.between(1, 4) }, (_, at): Input => ({
      kind: "nodeSeen",
      node: node(`n${at}`, "H100"),
    })),
  ];
}

function submitted(dice: Dice, name: string): Input {
  const isGang = dice.roll(4) === 0;
  const gang = { workers: isGang ? dice.between(2, 4) : 1, accelerators: dice.between(1, isGang ? 7 : 4) };
  const taskCount = dice.roll(4) === 0 ? dice.between(2, 6) : null;
  return command({ kind: "submitWorkload", spec: spec(name, { gang, taskCount, priority: dice.between(0, 2) }) });
}

/** Work ends, and a node of an order joins or somebody says that the order is placed. */
function news(dice: Dice, { engine }: Drive, at: number): readonly Input[] {
  const inputs: Input[] = [];
  for (const { id, workers } of engine.state.attempts.values()) {
    if (dice.roll(2) === 0) continue;
    const exits = workers.map((_, worker) => ({ kind: "exited", worker, code: 0 }) as const);
    inputs.push({ kind: "attemptRunning", attemptId: id }, { kind: "attemptExited", attemptId: id, exits });
  }
  const order = [...engine.state.capacityOrders.values()].find(isOutstanding);
  if (order !== undefined && dice.roll(3) === 0) inputs.push(...ofOrder(dice, order, at));
  return inputs;
}

function ofOrder(dice: Dice, { name, automatic }: CapacityOrder, at: number): readonly Input[] {
  if (dice.roll(2) === 0) return [{ kind: "nodeSeen", node: node(nodeId(`s${at}`), "H100") }];
  return automatic?.provisioner === "manual"
    ? [command({ kind: "advanceCapacityOrder", name, phase: "ordered", reason: "", arrival: undefined })]
    : [{ kind: "orderReported", name, state: "ordered", detail: "" }];
}

it("places what fits beside held parts, and says why the rest waits", () => {
  let orders = 0;
  for (const seed of seeds) {
    const dice = new Dice(seed);
    const drive = new Drive();
    drive.receive(...fleet(dice));
    for (let step = 0; step < 8; step++) {
      const count = dice.between(1, 6);
      const work = Array.from({ length: count }, (_, at) => submitted(dice, `w${step}-${at}`));
      try {
        drive.receive(...work);
        drive.receive(...news(dice, drive, step));
        drive.passTo(drive.nowMs + dice.between(0, 30) * MINUTE);
        if (dice.roll(4) === 0) drive.restart();
        drive.receive({ kind: "tick" });
      } catch (error) {
        throw new Error(`seed ${seed}, step ${step}`, { cause: error });
      }
    }
    orders += drive.engine.state.capacityOrders.size;
  }
  expect(orders).toBeGreaterThan(0);
}, 600_000);
