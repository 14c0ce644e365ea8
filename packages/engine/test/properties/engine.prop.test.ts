/** Properties of every generated world, under every policy and story. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runsOf } from "../../../../tools/testing/rotating.ts";
import { canonicalJson } from "@headroom/model";
import type { Event, Input } from "@headroom/model";
import { explain, planApply, queuePage, waitingSummary } from "@headroom/explain";
import { checkInvariants, waivedInvariants } from "@headroom/engine-oracle";
import { createEngine, replayEngine, restoreEngine } from "../../src/index.ts";
import type { Engine, JournalGroup, Ready } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { Story, obedience } from "./play.ts";
import { moves, steps, worlds } from "./worlds.ts";
import type { World } from "./worlds.ts";

/** Records the inputs that a story gives to one engine, so that other engines get the same inputs. */
function batchesOf(
  world: World,
): readonly { readonly inputs: readonly Input[]; readonly nowMs: number; readonly ready: Ready }[] {
  const engine = createEngine();
  const story = new Story();
  let nowMs = 0;
  const batch = (inputs: readonly Input[]) => {
    const ready = engine.receive(inputs, nowMs);
    engine.advance();
    story.remember(ready);
    return { inputs, nowMs, ready };
  };
  const batches = [batch(story.capacityEpoch(world))];
  for (const step of world.steps) {
    nowMs += step.waitMs;
    batches.push(batch(story.inputs(step, engine)));
  }
  return batches;
}

/** Tasks that a batch evicted without migrating them. */
const evictedTasks = ({ events }: Ready): readonly string[] =>
  events.flatMap((event) => {
    const isEviction = event.kind === "attemptStopRequested" && ["preempted", "reclaimed"].includes(event.reason);
    return isEviction ? [event.attemptId.replace(/\.\d+$/, "")] : [];
  });

/** Ends all terminating attempts and advances time until nothing more is due; false: the world does not settle. */
function markClean(drive: Drive, story: Story, onReady: (ready: Ready, byTime: boolean) => void): boolean {
  for (let round = 0; round < 300; round++) {
    const left = obedience(drive.engine);
    const wake = drive.engine.nextWakeAtMs();
    if (left.length === 0 && wake === null) return true;
    // Usage history decays in many small steps; a driver that skips most of them reaches the same state.
    const sleepMs = 10 * (drive.engine.state.policy.teams?.usageHalfLifeMs ?? 0);
    if (left.length === 0) drive.nowMs = Math.max(drive.nowMs, wake ?? 0) + sleepMs;
    const ready = drive.receive(...(left.length > 0 ? left : [{ kind: "tick" as const }]));
    story.remember(ready);
    onReady(ready, left.length === 0);
  }
  return false;
}

/** The world after its story; every batch was checked. */
function lived(world: World): { readonly drive: Drive; readonly story: Story } {
  const drive = new Drive();
  const story = new Story();
  story.remember(drive.receive(...story.capacityEpoch(world)));
  for (const step of world.steps) {
    drive.nowMs += step.waitMs;
    story.remember(drive.receive(...story.inputs(step, drive.engine)));
  }
  return { drive, story };
}

const receive = (engine: Engine, inputs: readonly Input[], nowMs: number): Ready => {
  const ready = engine.receive(inputs, nowMs);
  engine.advance();
  return ready;
};

const said = ({ events, replies, effects, group }: Ready): string =>
  JSON.stringify({ events, replies, effects, chain: group?.chain ?? null });

const bytesOf = (engine: Engine): string => new TextDecoder().decode(engine.snapshot());

const groupsOf = (rounds: readonly { readonly ready: Ready }[]): readonly JournalGroup[] =>
  rounds.flatMap(({ ready }) => ready.group ?? []);

describe("generated worlds", () => {
  it("bring about everything that can happen, be refused and be said", () => {
    const seen = new Set<string>();
    for (const world of fc.sample(worlds, { numRuns: 500, seed: 2 })) {
      const engine = createEngine();
      for (const { inputs, nowMs } of batchesOf(world)) {
        const { events, replies } = receive(engine, inputs, nowMs);
        for (const event of events) for (const word of wordsOf(event)) seen.add(word);
        for (const reply of replies) seen.add(reply.kind === "rejected" ? reply.rejection.code : reply.result.kind);
        for (const id of engine.state.workloads.keys()) {
          const verdict = explain(engine, id);
          for (const { kind } of verdict.kind === "blocked" ? verdict.reasons : [verdict]) seen.add(kind);
        }
      }
    }
    expect(everything.filter((word) => !seen.has(word))).toEqual([]);
  });
});

describe("in every generated world", () => {
  it("every invariant holds after every batch", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { drive } = lived(world);
        expect(checkInvariants(drive.engine)).toEqual([]);
      }),
      runsOf(100),
    );
  });

  it("an engine restored before every batch decides the same, and a batch leaves nothing undone: incremental equals from nothing", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        let engine = createEngine();
        for (const { inputs, nowMs, ready } of batchesOf(world)) {
          engine = restoreEngine(engine.snapshot());
          expect(said(receive(engine, inputs, nowMs))).toBe(said(ready));
          // Under these policies the next round withdraws unused nominations.
          if (waivedInvariants(engine.state.policy).has(5)) continue;
          const anew = restoreEngine(engine.snapshot());
          expect(anew.receive([{ kind: "tick" }], nowMs).events).toEqual([]);
        }
      }),
      runsOf(100),
    );
  });

  it("reading the journal, whole or from any snapshot, gives the same digest, chain and future", () => {
    fc.assert(
      fc.property(worlds, fc.nat(), fc.nat(), (world, cut, between) => {
        const rounds = batchesOf(world);
        const at = cut % rounds.length;
        const early = between % (at + 1);
        const live = createEngine();
        let snapshot = live.snapshot();
        rounds.slice(0, at).forEach(({ inputs, nowMs }, index) => {
          if (index === early) snapshot = live.snapshot();
          receive(live, inputs, nowMs);
        });
        const before = groupsOf(rounds.slice(0, Math.min(early, at)));
        const whole = createEngine();
        replayEngine(whole, groupsOf(rounds.slice(0, at)));
        const partly = restoreEngine(early < at ? snapshot : live.snapshot());
        replayEngine(partly, groupsOf(rounds.slice(0, at)).slice(before.length));
        for (const engine of [whole, partly]) {
          expect(engine.digest()).toBe(live.digest());
          expect(bytesOf(engine)).toBe(bytesOf(live));
          for (const { inputs, nowMs, ready } of rounds.slice(at))
            expect(said(receive(engine, inputs, nowMs))).toBe(said(ready));
        }
      }),
      runsOf(100),
    );
  });

  it("obeyed, and with no change but time, it comes to rest: five more rounds change nothing, nobody is evicted twice", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { drive, story } = lived(world);
        const waived = waivedInvariants(drive.engine.state.policy);
        const evicted = new Set<string>();
        const isClean = markClean(drive, story, (ready, byTime) => {
          // Time may have made other work eligible to start or to be evicted, so new decisions are allowed.
          if (byTime) evicted.clear();
          for (const task of evictedTasks(ready)) {
            expect(waived.has(8) || !evicted.has(task), `${task} is evicted twice before rest`).toBe(true);
            evicted.add(task);
          }
        });
        expect(isClean || waived.has(5)).toBe(true);
        if (!isClean) return;
        const { chain } = drive.engine.state;
        const digest = drive.engine.digest();
        for (let round = 0; round < 5; round++) {
          drive.nowMs += 10 ** (2 * round);
          expect(drive.receive({ kind: "tick" }).group).toBeNull();
        }
        expect([drive.engine.state.chain, drive.engine.digest()]).toEqual([chain, digest]);
      }),
      runsOf(50),
    );
  });

  it("no two workloads evict each other on the way to rest (DESIGN 7.6)", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { drive, story } = lived(world);
        if (waivedInvariants(drive.engine.state.policy).has(6)) return;
        const pairs = new Set<string>();
        markClean(drive, story, ({ events }, byTime) => {
          if (byTime) pairs.clear();
          for (const event of events) {
            if (event.kind !== "evictionPlanned" || event.reason === "migrated") continue;
            for (const { attemptId: victim } of event.victims) {
              const from = victim.split(".")[0];
              expect(pairs.has(`${event.workloadId} ${from}`), `${from} and ${event.workloadId} evict each other`).toBe(
                false,
              );
              pairs.add(`${from} ${event.workloadId}`);
            }
          }
        });
      }),
      runsOf(50),
    );
  });

  it("before the next wake-up, time alone changes nothing", () => {
    fc.assert(
      fc.property(worlds, fc.nat({ max: 10_000 }), (world, partMs) => {
        const { drive } = lived(world);
        // Under these policies the next round withdraws unused nominations, whatever its cause.
        if (waivedInvariants(drive.engine.state.policy).has(5)) return;
        const wake = drive.engine.nextWakeAtMs();
        drive.nowMs =
          wake === null ? drive.nowMs + partMs : Math.max(drive.nowMs, Math.min(wake - 1, drive.nowMs + partMs));
        expect(drive.receive({ kind: "tick" }).events).toEqual([]);
      }),
      runsOf(50),
    );
  });

  it("a refused command leaves no trace, and the dry run of an apply says what the apply does", () => {
    fc.assert(
      fc.property(worlds, fc.array(moves, { minLength: 5, maxLength: 20 }), (world, tries) => {
        const { drive, story } = lived(world);
        const { engine } = drive;
        for (const move of tries) {
          const before = { bytes: bytesOf(engine), digest: engine.digest(), chain: engine.state.chain };
          const [input] = story.inputsOf(move, engine);
          if (input === undefined || !("commandId" in input)) continue;
          if (engine.state.nominations.size > 0 && waivedInvariants(engine.state.policy).has(5)) return;
          const forecast = input.kind === "apply" ? planApply(engine, input) : null;
          const ready = drive.receive(input);
          story.remember(ready);
          const [reply] = ready.replies;
          if (reply?.kind === "rejected") {
            expect(ready.group).toBeNull();
            expect({ bytes: bytesOf(engine), digest: engine.digest(), chain: engine.state.chain }).toEqual(before);
          }
          if (forecast === null || reply === undefined) continue;
          if (forecast.kind === "refused")
            expect(reply).toMatchObject({ kind: "rejected", rejection: forecast.rejection });
          else {
            const known = forecast.changes.map((change) =>
              change.workloadId === null ? { ...change, workloadId: undefined } : change,
            );
            expect(reply).toMatchObject({ kind: "accepted", result: { kind: "applied" } });
            expect(
              reply.kind === "accepted" && reply.result.kind === "applied" ? reply.result.changes.length : -1,
            ).toBe(known.length);
            known.forEach(({ kind, name, action }, index) =>
              expect(reply).toHaveProperty(`result.changes.${index}`, expect.objectContaining({ kind, name, action })),
            );
          }
        }
      }),
      runsOf(50),
    );
  });

  it("trying something on a fork, and asking why, leaves the original byte for byte as it was", () => {
    fc.assert(
      fc.property(worlds, steps(10), (world, whatIf) => {
        const { drive } = lived(world);
        const { engine } = drive;
        const before = { bytes: bytesOf(engine), digest: engine.digest(), wake: engine.nextWakeAtMs() };
        const fork = restoreEngine(engine.snapshot());
        const story = new Story();
        for (const step of whatIf) receive(fork, story.inputs(step, fork), drive.nowMs);
        for (const id of engine.state.workloads.keys()) explain(engine, id);
        queuePage(engine, { after: null, limit: 100 });
        waitingSummary(engine);
        engine.outstandingEffects();
        expect({ bytes: bytesOf(engine), digest: engine.digest(), wake: engine.nextWakeAtMs() }).toEqual(before);
      }),
      runsOf(50),
    );
  });

  it("the order of the fields of an input changes nothing", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const engine = createEngine();
        for (const { inputs, nowMs, ready } of batchesOf(world)) {
          const { events, replies, effects } = receive(engine, inputs.map(turnedOver), nowMs);
          expect(canonicalJson({ events, replies, effects })).toBe(
            canonicalJson({ events: ready.events, replies: ready.replies, effects: ready.effects }),
          );
        }
      }),
      runsOf(50),
    );
  });

  it("the order in which a snapshot lists pools and attempts changes nothing", () => {
    fc.assert(
      fc.property(worlds, fc.nat(), (world, cut) => {
        const rounds = batchesOf(world);
        const at = cut % rounds.length;
        const engine = createEngine();
        for (const { inputs, nowMs } of rounds.slice(0, at)) receive(engine, inputs, nowMs);
        const stored = JSON.parse(bytesOf(engine)) as Record<"sites" | "pools" | "attempts", unknown[]>;
        const turned = {
          ...stored,
          pools: stored.pools.toReversed(),
          attempts: stored.attempts.toReversed(),
        };
        const other = restoreEngine(new TextEncoder().encode(JSON.stringify(turned)));
        expect(other.digest()).toBe(engine.digest());
        for (const { inputs, nowMs, ready } of rounds.slice(at))
          expect(said(receive(other, inputs, nowMs))).toBe(said(ready));
      }),
      runsOf(50),
    );
  });

  it("nothing that was blocked starts before one of the events that its verdict names", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const engine = createEngine();
        for (const { inputs, nowMs } of batchesOf(world)) {
          const verdicts = new Map([...engine.state.workloads.keys()].map((id) => [id, explain(engine, id)]));
          const { events } = receive(engine, inputs, nowMs);
          const happened = new Set(events.map(({ kind }) => kind));
          for (const event of events) {
            const verdict = event.kind === "gangPlaced" ? verdicts.get(event.workloadId) : undefined;
            if (verdict?.kind !== "blocked") continue;
            const [reason] = verdict.reasons;
            const isDue =
              (reason?.kind === "backoff" && reason.untilMs <= nowMs) ||
              (reason?.kind === "notBefore" && reason.atMs <= nowMs);
            // A change in place can end any reason, so verdicts do not list it.
            const named = happened.has("workloadChanged") || verdict.wakeOn.some((kind) => happened.has(kind));
            expect(isDue || named, `${JSON.stringify(verdict)} after ${[...happened].join(" ")}`).toBe(true);
          }
        }
      }),
      runsOf(100),
    );
  });
});

function wordsOf(event: Event): readonly string[] {
  if (event.kind === "attemptEnded") return [event.kind, event.outcome];
  if (event.kind === "attemptStopRequested") return [event.kind, `stop:${event.reason}`];
  if (event.kind === "hotSpareReleased") return [event.kind, `spare:${event.reason}`];
  const word = inGroups(event);
  if (word !== null) return [event.kind, word];
  return event.kind === "workloadEnded" ? [event.kind, event.reason.kind] : [event.kind];
}

/** Events of a gang with task groups, on one or several types; `null`: no such event. */
function inGroups(event: Event): string | null {
  if (event.kind === "gangGrown") return event.workers[0]?.taskGroup === undefined ? null : "grown:groups";
  if (event.kind !== "gangPlaced" || event.workers[0]?.taskGroup === undefined) return null;
  const isMixed = new Set(event.workers.map(({ accelerators }) => accelerators === "")).size > 1;
  return isMixed ? "placed:unlike-groups" : "placed:groups";
}

/** All kinds of events except those that need a pool with a changed type, an unknown site, or a million workloads. */
const everything = `
  siteDefined poolDefined nodeJoined nodeChanged nodeLost nodeReturned nodeDrainStarted nodeResumed
  nodeRemovalRequested nodeRemovalCancelled nodeRemoved poolRemovalRequested poolRemovalCancelled poolRemoved
  siteRemoved fleetInUse
  teamDefined teamRemoved policySet commandAnswered workloadSubmitted workloadStopRequested workloadEnded
  gangPlaced attemptStarted attemptStopRequested attemptEnded progressEstimated checkpointRecorded idleChanged
  hotSpareReserved hotSpareReleased spare:taken hotSparesKept nodeCacheChanged storesChanged bytesTransferred
  workloadHeld workloadReleased workloadChanged gangGrown placementNominated nominationWithdrawn evictionPlanned
  stop:preempted stop:reclaimed stop:migrated predictionCorrected placed:groups placed:unlike-groups grown:groups
  succeeded failed stopped lost stop:cancelled stop:walltimeExceeded stop:nodeDrained stop:nodeLost
  allTasksSucceeded tasksFailed retriesExhausted walltimeExceeded cancelled dependencyNotMet
  workloadStopping applied nodeDraining unknownDependency held waitsFor notBefore reservation nominated
  unknownTeam teamCycle teamInUse unknownWorkload workloadEnded workloadActive duplicateName unknownNode tooLarge
  idempotencyKeyReused
  exceedsFleet dataRule antiAffinity acceleratorShortfall workerShortfall partShortfall teamLimit behindHead backoff notWaiting`
  .trim()
  .split(/\s+/);

/** The same value with the fields of every record in reverse order. */
function turnedOver<T>(value: T): T {
  if (Array.isArray(value)) return value.map(turnedOver) as T;
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).toReversed();
  return Object.fromEntries(fields.map(([key, field]) => [key, turnedOver(field)])) as T;
}
