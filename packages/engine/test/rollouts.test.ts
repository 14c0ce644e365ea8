import { describe, expect, it } from "vitest";
import type { Attempt, Command, RolloutSpec, WorkloadChanges } from "@headroom/model";
import { attemptId, revisionNumberOf, teamName, workloadId } from "@headroom/model";
import { restoreEngine } from "../src/index.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

const id = workloadId("w1");
const steps: RolloutSpec = { steps: [25, 100], everyMs: 60_000, timeoutMs: 600_000, abort: { errorRateMilli: 10 } };
const requested = { kind: "requested" } as const;

/** An endpoint with `replicas` ready replicas on a fleet of eight accelerators. */
function begun({
  replicas = 4,
  rollout,
  model,
}: { replicas?: number; rollout?: RolloutSpec; model?: string } = {}): Drive {
  const drive = new Drive();
  const chat = {
    ...spec("chat", { acceleratorTypes: ["L4"], replicas: { min: replicas, max: 4 } }),
    ...(rollout === undefined ? {} : { rollout }),
    ...(model === undefined ? {} : { servedModel: model }),
  };
  drive.receive(
    applied({ sites: [site], pools: [pool("L4")] }),
    { kind: "nodeSeen", node: node("n1", "L4") },
    { kind: "nodeSeen", node: node("n2", "L4") },
  );
  if (model !== undefined) register(drive, ["production"]);
  drive.receive(command({ kind: "submitWorkload", spec: chat }));
  ready(drive);
  return drive;
}

function register(drive: Drive, aliases: readonly string[]): void {
  const artifact = { kind: "model", team: teamName("default"), name: "chat", digest: null, bytes: null } as const;
  drive.receive(
    command({
      kind: "registerArtifact",
      artifact: { ...artifact, places: [], inputs: [] },
      aliases,
      reason: "test",
    } as never),
  );
}

const workloadOf = ({ engine }: Drive) => engine.state.workloads.get(id)!;
const attemptsOf = (drive: Drive): readonly Attempt[] =>
  workloadOf(drive).activeAttempts.flatMap((each) => drive.engine.state.attempts.get(each) ?? []);
const staying = (drive: Drive): readonly Attempt[] => attemptsOf(drive).filter(({ stop }) => stop === null);
/** Numbers of replicas that stay, by revision: `[present, new]`. */
const byRevision = (drive: Drive): readonly number[] =>
  [1, 2].map((number) => staying(drive).filter((each) => revisionNumberOf(each) === number).length);

/** All replicas that were launched become ready, and all that were asked to stop end. */
function ready(drive: Drive): void {
  for (const { id: each, ready: since, stop } of attemptsOf(drive)) {
    if (stop !== null)
      drive.receive({ kind: "attemptExited", attemptId: each, exits: [{ kind: "exited", worker: 0, code: 0 }] });
    else if (since === undefined)
      drive.receive(
        { kind: "attemptRunning", attemptId: attemptId(each) },
        { kind: "replicaReady", attemptId: attemptId(each), address: `127.0.0.1:${each}` },
      );
  }
}

const change = (drive: Drive, changes: WorkloadChanges): void =>
  void drive.receive(command({ kind: "changeWorkload", workloadId: id, changes }));
const steer = (drive: Drive, action: (Command & { readonly kind: "steerRollout" })["action"]): void =>
  void drive.receive(
    command({ kind: "steerRollout", workloadId: id, number: null, step: null, action, ground: requested }),
  );

describe("a rollout in steps", () => {
  it("adds replicas of the new revision beside the present ones, and ends when all are ready", () => {
    const drive = begun({ rollout: steps });
    change(drive, { run: "serve-2" });
    expect(byRevision(drive)).toEqual([4, 1]);
    ready(drive);
    steer(drive, "advance");
    expect(byRevision(drive)).toEqual([4, 4]);
    expect(workloadOf(drive).spec.run).not.toBe("serve-2");
    ready(drive);
    expect(workloadOf(drive).rollout).toBeDefined();
    steer(drive, "advance");
    expect(workloadOf(drive)).toMatchObject({ revisionNumber: 2, spec: { run: "serve-2" } });
    expect(workloadOf(drive).rollout).toBeUndefined();
    expect(byRevision(drive)).toEqual([0, 4]);
    ready(drive);
    expect(byRevision(drive)).toEqual([0, 4]);
  });

  it("copies requests before the first step, on as many replicas as the copies need", () => {
    const drive = begun({ rollout: { ...steps, shadow: 50 } });
    change(drive, { run: "serve-2" });
    expect(workloadOf(drive).rollout).toMatchObject({ steps: [0, 25, 100], step: 0, shadow: 50 });
    expect(byRevision(drive)).toEqual([4, 2]);
    ready(drive);
    steer(drive, "advance");
    expect(byRevision(drive)).toEqual([4, 1]);
    expect(restoreEngine(drive.engine.snapshot()).state.workloads.get(id)?.rollout?.shadow).toBe(50);
    steer(drive, "rollBack");
    expect(byRevision(drive)).toEqual([4, 0]);
  });

  it("rolls back without stopping a present replica, also when some failed", () => {
    const drive = begun({ rollout: steps });
    change(drive, { run: "serve-2" });
    ready(drive);
    const present = staying(drive).filter((each) => revisionNumberOf(each) === 1);
    drive.receive({
      kind: "attemptExited",
      attemptId: present[0]!.id,
      exits: [{ kind: "exited", worker: 0, code: 1 }],
    });
    steer(drive, "rollBack");
    expect(byRevision(drive)).toEqual([3, 0]);
    expect(workloadOf(drive).rollout).toBeUndefined();
    expect(workloadOf(drive).revisionNumber).toBeUndefined();
  });

  it("is rolled back by the old document, refuses a third revision, and keeps to its step", () => {
    const drive = begun({ rollout: steps });
    const { run } = workloadOf(drive).spec;
    change(drive, { run: "serve-2" });
    change(drive, { run: "serve-3" });
    expect(workloadOf(drive).rollout?.changes).toEqual({ run: "serve-2" });
    drive.receive(
      command({ kind: "steerRollout", workloadId: id, number: 2, step: 1, action: "advance", ground: requested }),
    );
    expect(workloadOf(drive).rollout?.step).toBe(0);
    change(drive, { run });
    expect(workloadOf(drive).rollout).toBeUndefined();
    expect(byRevision(drive)).toEqual([4, 0]);
  });

  it("counts no replica of a revision that was rolled back as its own", () => {
    const drive = begun({ rollout: steps });
    change(drive, { run: "serve-2" });
    ready(drive);
    const steered = { kind: "steerRollout", workloadId: id, number: null, step: null, action: "rollBack" } as const;
    drive.receive(
      command({ ...steered, ground: requested }),
      command({ kind: "changeWorkload", workloadId: id, changes: { run: "serve-3" } }),
    );
    const { rollout } = workloadOf(drive);
    expect(rollout).toMatchObject({ number: 3, changes: { run: "serve-3" } });
    ready(drive);
    expect(staying(drive).map(revisionNumberOf)).toEqual([1, 1, 1, 1, 3]);
  });

  it("goes on after a restart", () => {
    const drive = begun({ rollout: steps });
    change(drive, { run: "serve-2" });
    ready(drive);
    steer(drive, "pause");
    const restored = restoreEngine(drive.engine.snapshot());
    expect(restored.digest()).toBe(drive.engine.digest());
    expect(restored.state.workloads.get(id)?.rollout).toMatchObject({ number: 2, isPaused: true, canary: 1 });
  });
});

describe("a rollout without steps", () => {
  it("replaces one replica after another beside an added one", () => {
    const drive = begun({ replicas: 3 });
    change(drive, { env: { MODE: "new" } });
    const seen: (readonly number[])[] = [];
    for (let turn = 0; turn < 8 && workloadOf(drive).rollout !== undefined; turn++) {
      seen.push(byRevision(drive));
      expect(staying(drive).filter((each) => each.ready !== undefined).length).toBeGreaterThanOrEqual(3);
      ready(drive);
    }
    expect(seen[0]).toEqual([3, 1]);
    expect(byRevision(drive)).toEqual([0, 3]);
    expect(workloadOf(drive).spec.env).toEqual({ MODE: "new" });
  });

  it("replaces replicas back, and never has fewer than the minimum", () => {
    const drive = begun({ replicas: 3 });
    change(drive, { run: "serve-2" });
    ready(drive);
    ready(drive);
    expect(byRevision(drive)[1]).toBeGreaterThan(1);
    steer(drive, "rollBack");
    for (let turn = 0; turn < 10 && workloadOf(drive).rollout !== undefined; turn++) {
      expect(staying(drive).filter((each) => each.ready !== undefined).length).toBeGreaterThanOrEqual(3);
      ready(drive);
    }
    expect(byRevision(drive)).toEqual([3, 0]);
    expect(workloadOf(drive).revisionNumber).toBeUndefined();
  });

  it("follows an alias of its model, and registers nothing twice", () => {
    const drive = begun({ replicas: 2, model: "model:chat@production" });
    const before = workloadOf(drive).given;
    register(drive, ["production"]);
    expect(workloadOf(drive).rollout).toMatchObject({ cause: "alias", number: 2, changes: {} });
    for (let turn = 0; turn < 8 && workloadOf(drive).rollout !== undefined; turn++) ready(drive);
    expect(workloadOf(drive).given).not.toEqual(before);
    expect(workloadOf(drive).given?.[0]?.version).toContain("@2");
  });

  it("follows a version that was rolled back only when its own alias moves again", () => {
    const drive = begun({ replicas: 2, model: "model:chat@production" });
    register(drive, ["production"]);
    steer(drive, "rollBack");
    register(drive, ["staging"]);
    expect(workloadOf(drive).rollout).toBeUndefined();
    register(drive, ["production"]);
    expect(workloadOf(drive).rollout?.given?.[0]?.version).toContain("@4");
  });

  it("changes an endpoint without replicas at once, and refuses other kinds", () => {
    const drive = begun({ replicas: 0, rollout: steps });
    change(drive, { run: "serve-2" });
    expect(workloadOf(drive)).toMatchObject({ revisionNumber: 2, spec: { run: "serve-2" } });
  });
});

it("is applied together with the training that makes its model, and waits for it", () => {
  const drive = new Drive();
  const made = "model:chat";
  const training = { ...spec("train", { acceleratorTypes: ["L4"] }), produces: [made] };
  const serving = {
    ...spec("chat", { acceleratorTypes: ["L4"], replicas: { min: 1, max: 4 } }),
    servedModel: made,
    data: { inputs: [made] },
    after: [{ artifact: made }],
  };
  const set = applied({ sites: [site], pools: [pool("L4")], workloads: [serving, training] });
  drive.receive(set, { kind: "nodeSeen", node: node("n1", "L4") });
  const waiting = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "chat");
  expect(waiting?.waitsFor).toEqual([{ workloadId: workloadId("w1"), on: "artifact", artifact: made }]);
  expect(waiting?.phase).toBe("pending");
});
