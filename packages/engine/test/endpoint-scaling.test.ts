import { describe, expect, it } from "vitest";
import type { Command } from "@headroom/model";
import { attemptId, workloadId } from "@headroom/model";
import { endpointsOf } from "../src/index.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

const id = workloadId("w1");
const ground = {
  kind: "load",
  cause: "concurrency",
  measuredMilli: 9_000,
  targetMilli: 4_000,
  neededMilli: 2_250,
  aheadMs: 0,
} as const;
type Scale = Command & { readonly kind: "scaleEndpoint" };
const scale = (changes: Partial<Pick<Scale, "from" | "replicas" | "stopFirst" | "acceleratorTypes">>): Command =>
  command({ kind: "scaleEndpoint", workloadId: id, from: 1, replicas: 3, ground, stopFirst: [], ...changes });

/** An endpoint with one to three replicas that follows traffic, and room for four. */
function begun(): Drive {
  const drive = new Drive();
  const chat = spec("chat", { acceleratorTypes: ["L4"], replicas: { min: 1, max: 3 } });
  drive.receive(applied({ sites: [site], pools: [pool("L4")] }), { kind: "nodeSeen", node: node("n1", "L4") });
  drive.receive(command({ kind: "submitWorkload", spec: { ...chat, scale: { downAfterMs: 60_000 } } as typeof chat }));
  return drive;
}

const active = (drive: Drive): readonly string[] =>
  (drive.engine.state.workloads.get(id)?.activeAttempts ?? []).filter(
    (each) => drive.engine.state.attempts.get(each)?.stop === null,
  );

describe("scaleEndpoint", () => {
  it("keeps to the bounds, and changes nothing if the number has changed meanwhile", () => {
    const drive = begun();
    drive.receive(scale({ replicas: 30 }));
    expect(active(drive)).toHaveLength(3);
    drive.receive(scale({ from: 1, replicas: 1 }));
    expect(active(drive)).toHaveLength(3);
    drive.receive(scale({ from: 3, replicas: 0 }));
    expect(active(drive)).toHaveLength(1);
    expect(endpointsOf(drive.engine).map((each) => each.scale?.ground)).toEqual([ground]);
  });

  it("stops the named replicas first", () => {
    const drive = begun();
    drive.receive(scale({}));
    const [first, second, third] = drive.engine.state.workloads.get(id)?.activeAttempts ?? [];
    if (first === undefined || second === undefined || third === undefined) throw new Error("no three replicas");
    for (const attemptId of [first, second, third])
      drive.receive(
        { kind: "attemptRunning", attemptId },
        { kind: "replicaReady", attemptId, address: `127.0.0.1:${attemptId}` },
      );
    drive.receive(scale({ from: 3, replicas: 2, stopFirst: [second, first, third] }));
    expect(active(drive)).toEqual([first, third]);
  });

  it("places missing replicas on the types in the order that the change chose, until another change", () => {
    const drive = new Drive();
    const unlike = spec("chat", { acceleratorTypes: ["H100", "L4", "A10"], replicas: { min: 1, max: 9 } });
    drive.receive(
      applied({ sites: [site], pools: [pool("H100"), pool("L4"), pool("B200")] }),
      ...["H100", "L4", "B200"].map((type) => ({ kind: "nodeSeen", node: node(`${type}-1`, type) }) as const),
    );
    drive.receive(
      command({ kind: "submitWorkload", spec: { ...unlike, scale: { downAfterMs: 60_000 } } as typeof unlike }),
    );
    const types = (): readonly (string | undefined)[] =>
      active(drive).map((each) => drive.engine.state.attempts.get(attemptId(each))?.acceleratorType);
    expect(types()).toEqual(["H100"]);
    drive.receive(scale({ replicas: 2, acceleratorTypes: ["L4", "B200", "H100"] }));
    // A type that the endpoint does not accept is left out.
    expect(endpointsOf(drive.engine)[0]?.scale?.acceleratorTypes).toEqual(["L4", "H100"]);
    drive.receive(scale({ from: 2, replicas: 3 }));
    expect(types()).toEqual(["H100", "L4", "L4"]);
    drive.receive(scale({ from: 3, replicas: 4, acceleratorTypes: ["H100", "L4"] }));
    expect(types().at(-1)).toBe("H100");
  });

  it("is refused for other workloads, and does nothing without targets", () => {
    const drive = new Drive();
    drive.receive(applied({ sites: [site], pools: [pool("L4")] }), { kind: "nodeSeen", node: node("n1", "L4") });
    drive.receive(command({ kind: "submitWorkload", spec: spec("chat", { replicas: { min: 1, max: 3 } }) }));
    drive.receive(scale({}));
    expect(active(drive)).toHaveLength(1);
  });
});
