/**
 * Engines with one bug each, which test the checkers: the responsible checker must find each bug. Such an engine is the
 * real one in a thin wrapper that modifies its output or drops its effects.
 */
import { createEngine, restoreEngine } from "@headroom/engine";
import type { Engine, Ready, ReadonlyState } from "@headroom/engine";
import { workloadId } from "@headroom/model";
import type { Effect, EndpointScale, Event, Input, Nomination } from "@headroom/model";
import type { EngineSource } from "@headroom/sim";
import { view, withAttempts, withSpecs, type PlantedBug } from "./bent-views.ts";
import { plantedInBounds } from "./planted-in-bounds.ts";
import { plantedLosses } from "./planted-losses.ts";

export function plantedEngines(bug: PlantedBug): EngineSource {
  return {
    create: () => new PlantedEngine(createEngine(), bug),
    restore: (snapshot) => new PlantedEngine(restoreEngine(snapshot), bug),
  };
}

class PlantedEngine implements Engine {
  readonly #engine: Engine;
  readonly #bug: PlantedBug;

  constructor(engine: Engine, bug: PlantedBug) {
    this.#engine = engine;
    this.#bug = bug;
  }

  get state(): ReadonlyState {
    return this.#bug.bendState?.(this.#engine.state) ?? this.#engine.state;
  }

  get fleetEpoch(): number {
    return this.#engine.fleetEpoch;
  }

  receive(inputs: readonly Input[], nowMs: number): Ready {
    const ready = this.#engine.receive(this.#bug.bendInputs?.(inputs) ?? inputs, nowMs);
    return this.#bug.bendReady?.(ready, this.#engine.state) ?? ready;
  }

  advance(): void {
    this.#engine.advance();
  }

  nextWakeAtMs(): number | null {
    return this.#engine.nextWakeAtMs();
  }

  outstandingEffects(): readonly Effect[] {
    return this.#engine.outstandingEffects();
  }

  digest(): string {
    return this.#engine.digest();
  }

  snapshot(): Uint8Array {
    const bytes = this.#engine.snapshot();
    if (this.#bug.bendSnapshot === undefined) return bytes;
    return new TextEncoder().encode(this.#bug.bendSnapshot(new TextDecoder().decode(bytes)));
  }
}

/** The state with other numbers of replicas, as far as the bounds of the endpoints allow them. */
function withScales(state: ReadonlyState, bend: (scale: EndpointScale) => EndpointScale): ReadonlyState {
  const workloads = [...state.workloads].map(([id, workload]) => {
    const { spec, scale } = workload;
    if (spec.kind !== "serve" || scale === undefined) return [id, workload] as const;
    const { min, max } = spec.replicas;
    const bent = bend(scale);
    return [id, { ...workload, scale: { ...bent, replicas: Math.min(max, Math.max(min, bent.replicas)) } }] as const;
  });
  return view(state, { workloads: new Map(workloads) });
}

const isTaking = (reason: string): boolean => ["preempted", "reclaimed", "migrated"].includes(reason);

function withoutEvents(ready: Ready, drops: (event: Event) => boolean): Ready {
  return { ...ready, events: ready.events.filter((event) => !drops(event)) };
}

function withoutEffects(ready: Ready, kind: Effect["kind"]): Ready {
  return { ...ready, effects: ready.effects.filter((effect) => effect.kind !== kind) };
}

/** Whether the newest round evicted work, under a policy that must not leave work waiting that fits. */
const takesNow = ({ attempts, nowMs, policy }: ReadonlyState): boolean =>
  policy.whenHeadBlocked === "stop" &&
  (policy.teams?.order.length ?? 0) > 0 &&
  [...attempts.values()].some(({ stop }) => stop !== null && isTaking(stop.reason) && stop.atMs === nowMs);

function withRoomyNodes(state: ReadonlyState): ReadonlyState {
  const nodes = [...state.nodes].map(([id, { workersMax: _max, ...node }]) => {
    const acceleratorCount = node.acceleratorCount === 0 ? 0 : node.acceleratorCount + 100;
    return [id, { ...node, acceleratorCount, coresMilli: 10 ** 9, memoryMib: 10 ** 9 }] as const;
  });
  return view(state, { nodes: new Map(nodes) });
}

/** Swaps victim and preemptor in the first plan of a batch. */
function turnedRound(events: readonly Event[]): readonly Event[] {
  for (const plan of events) {
    if (plan.kind !== "evictionPlanned" || plan.reason === "migrated") continue;
    const given = events.flatMap((event): Pick<Nomination, "attemptId" | "workloadId">[] => {
      if (event.kind === "gangPlaced") return [event];
      return event.kind === "placementNominated" && !event.nomination.growth ? [event.nomination] : [];
    });
    const taker = given.find(({ workloadId }) => workloadId === plan.workloadId)?.attemptId;
    const [victim] = plan.victims;
    if (taker === undefined || victim === undefined) continue;
    const [id, task, number] = victim.attemptId.split(".");
    return [
      {
        ...plan,
        workloadId: workloadId(id as string),
        task: number === undefined ? 0 : Number(task),
        victims: [{ ...victim, attemptId: taker }],
      },
    ];
  }
  return [];
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "an accelerator is given out twice",
    found: /is held [\d.]+ times/,
    bendState: (state) =>
      withAttempts(state, (attempt) => {
        const all = [...state.attempts.values()];
        const before = all.slice(0, all.indexOf(attempt));
        const twin = before.find((other) => other.workers[0]?.node === attempt.workers[0]?.node);
        const accelerators = twin?.workers[0]?.accelerators ?? "";
        if (accelerators === "" || attempt.workers.length > 1 || attempt.workers[0]?.accelerators === "")
          return attempt;
        const wanted = attempt.workers[0]?.accelerators.length === accelerators.length;
        return wanted
          ? { ...attempt, workers: attempt.workers.map((worker) => ({ ...worker, accelerators })) }
          : attempt;
      }),
  },
  {
    name: "memory is given out twice",
    found: /MiB of [\w-]+ are given out/,
    bendState: (state) =>
      view(state, {
        nodes: new Map(
          [...state.nodes].map(([id, node]) => [id, { ...node, memoryMib: Math.min(50, node.memoryMib) }]),
        ),
      }),
  },
  {
    name: "a gang starts without its last worker",
    found: /of \d+ workers/,
    bendState: (state) =>
      withAttempts(state, (attempt) => ({
        ...attempt,
        workers: attempt.workers.slice(0, Math.max(1, attempt.workers.length - 1)),
      })),
  },
  {
    name: "limits count only half of what a team holds",
    found: /above its limit/,
    bendState: (state) =>
      view(state, {
        teams: new Map(
          [...state.teams].map(([name, team]) => [
            name,
            {
              ...team,
              limit: Object.fromEntries(Object.entries(team.limit).map(([type, limit]) => [type, limit >> 1])),
            },
          ]),
        ),
      }),
  },
  {
    name: "draining nodes take new work",
    found: /which takes no work/,
    bendState: (state) =>
      view(state, {
        nodes: new Map([...state.nodes].map(([id, node]) => [id, { ...node, draining: node.ordinal === 0 }])),
      }),
  },
  {
    name: "a workload is forgotten",
    found: /workloads have not ended|is not there|without a workload|names/,
    bendState: (state) => view(state, { workloads: new Map([...state.workloads].filter((_, index) => index !== 2)) }),
  },
  {
    name: "a launch is asked for twice",
    found: /asked of executors/,
    bendReady: (ready) => ({ ...ready, effects: [...ready.effects, ...ready.effects.slice(0, 1)] }),
  },
  {
    name: "launches are decided and never asked for",
    found: /asked of executors/,
    bendReady: (ready) => withoutEffects(ready, "launchGang"),
  },
  {
    name: "nobody is stopped at the end of the walltime",
    found: /asked of executors/,
    bendReady: (ready) => withoutEffects(ready, "stopGang"),
  },
  {
    name: "the head blocks although the policy says skip",
    found: /waits although it fits/,
    bendState: (state) => view(state, { policy: { ...state.policy, whenHeadBlocked: "skip" } }),
  },
  {
    name: "the order of priority is turned round",
    found: /was started ahead of|waits although it fits/,
    bendState: (state) => view(state, { policy: { ...state.policy, order: ["priority"], whenHeadBlocked: "stop" } }),
  },
  {
    name: "a submission does not name its actor",
    found: /workloadSubmitted has no actor/,
    bendReady: (ready) => ({
      ...ready,
      events: ready.events.map((event) => (event.kind === "workloadSubmitted" ? { ...event, actor: "" } : event)),
    }),
  },
  {
    name: "exits are overheard",
    found: /for ever although the fleet could hold it|no rest after|and was not stopped/,
    bendInputs: (inputs) => inputs.filter(({ kind }) => kind !== "attemptExited"),
  },
  {
    name: "retries come before their back-off is over",
    found: /before its back-off was over|is to be retried at/,
    bendReady: (ready) => ({
      ...ready,
      events: ready.events.map((event) =>
        event.kind === "attemptEnded" && event.retryAtMs !== null
          ? { ...event, retryAtMs: event.retryAtMs + 1 }
          : event,
      ),
    }),
  },
  {
    name: "an attempt's end is recorded twice",
    found: /is not active: it has ended/,
    bendReady: (ready) => ({
      ...ready,
      events: ready.events.flatMap((event): Event[] => (event.kind === "attemptEnded" ? [event, event] : [event])),
    }),
  },
  {
    name: "a snapshot loses the back-off",
    found: /another digest/,
    bendSnapshot: (text) =>
      text.replaceAll(/"notBeforeMs":(\d+)/g, (_, at: string) => `"notBeforeMs":${Number(at) + 1}`),
  },
  {
    name: "what is evicted is not asked to leave",
    found: /asked of executors|is a victim and gets no stop request|but no stop was planned/,
    bendReady: (ready) =>
      withoutEvents(ready, (event) => event.kind === "attemptStopRequested" && isTaking(event.reason)),
  },
  {
    name: "what is asked for a checkpoint is waited for without end",
    found: /and its time is over/,
    bendState: (state) =>
      withAttempts(state, (attempt) =>
        attempt.stop?.checkpointUntilMs === undefined
          ? attempt
          : { ...attempt, stop: { ...attempt.stop, checkpointUntilMs: 0 } },
      ),
  },
  {
    name: "a gang goes on without the workers that it lost",
    found: /runs on without its ranks|of \d+ workers/,
    bendState: (state) =>
      withAttempts(state, (attempt) =>
        attempt.joining === undefined || attempt.stop !== null
          ? attempt
          : {
              ...attempt,
              workers: attempt.workers.filter((_, rank) => !attempt.joining?.includes(rank)),
              missing: attempt.joining,
            },
      ),
  },
  {
    name: "evictions leave no record of their right",
    found: /is evicted and no plan names it/,
    bendReady: (ready) => withoutEvents(ready, ({ kind }) => kind === "evictionPlanned"),
  },
  {
    name: "the place of a plan is forgotten",
    found: /got no place|is attempt \d+ of its task|asked of executors/,
    bendReady: (ready) => withoutEvents(ready, ({ kind }) => kind === "placementNominated"),
  },
  {
    name: "work is evicted that nobody may evict",
    found: /is evicted \(\w+\) and is preemptible never/,
    bendState: (state) => withSpecs(state, (spec) => ({ ...spec, preemptible: false })),
  },
  {
    name: "the time that work was promised to run is not kept",
    found: /is evicted after \d+ of/,
    bendState: (state) => withSpecs(state, (spec) => ({ ...spec, minRuntimeMs: 10_000_000 })),
  },
  {
    name: "gangs grow past their size",
    found: /has \d+ of \d+ workers|of \d+ workers/,
    bendState: (state) =>
      withSpecs(state, (spec) => ({
        ...spec,
        gang: { ...spec.gang, workers: spec.gang.minWorkers ?? spec.gang.workers },
      })),
  },
  {
    name: "parts of an accelerator are taken for smaller than they are",
    found: /is held [\d.]+ times|is promised, and held/,
    bendState: (state) =>
      withSpecs(state, ({ gang, ...spec }) => ({
        ...spec,
        gang: gang.shareMilli === undefined ? gang : { ...gang, shareMilli: gang.shareMilli + 301 },
      })),
  },
  {
    name: "labels that were asked for are not looked at",
    found: /lacks labels that were asked for/,
    bendState: (state) =>
      view(state, {
        nodes: new Map([...state.nodes].map(([id, node]) => [id, { ...node, labels: { zone: "elsewhere" } }])),
      }),
  },
  {
    name: "workers of one gang crowd where they should be spread",
    found: /workers share rail/,
    bendState: (state) =>
      withSpecs(state, (spec) =>
        spec.spread === undefined
          ? spec
          : { ...spec, spread: { ...spec.spread, topologyKey: "rail", maxPerDomain: 0 } },
      ),
  },
  {
    name: "a gang lies outside of the domain that it asked for",
    found: /it does not lie within one/,
    bendState: (state) =>
      view(state, { sites: new Map([...state.sites].map(([name, site]) => [name, { ...site, fabricLevels: [] }])) }),
  },
  {
    name: "surplus replicas of an endpoint go on",
    found: /replicas, \d+ are needed/,
    bendState: (state) =>
      withScales(state, ({ replicas, ...scale }) => ({ ...scale, replicas: Math.min(replicas, 1) })),
  },
  {
    name: "an endpoint lacks a replica that fits",
    found: /waits although it fits|rejected although/,
    bendState: (state) => withScales(state, (scale) => ({ ...scale, replicas: scale.replicas + 1 })),
  },
  {
    name: "replicas that are never ready go on",
    found: /is not ready in time and runs on/,
    bendState: (state) =>
      withSpecs(state, (spec) =>
        spec.kind === "serve" ? { ...spec, ready: { ...spec.ready, timeoutMs: 100 } } : spec,
      ),
  },
  {
    name: "held work starts",
    found: /waits although it fits|is pending for ever/,
    bendState: (state) =>
      view(state, {
        workloads: new Map([...state.workloads].map(([id, { held: _held, ...workload }]) => [id, workload])),
      }),
  },
  {
    name: "two take from each other",
    found: /evict each other/,
    bendReady: (ready) => ({ ...ready, events: [...ready.events, ...turnedRound(ready.events)] }),
  },
  {
    name: "work is evicted a second time",
    found: /is evicted twice under the same conditions|is a victim twice in one batch/,
    bendReady: (ready) => ({
      ...ready,
      events: ready.events.flatMap((event) =>
        event.kind === "evictionPlanned" && event.reason !== "migrated" ? [event, event] : [event],
      ),
    }),
  },
  {
    name: "more is taken than is needed",
    found: /was taken for w\d+, which fits beside it/,
    bendState: (state) => (takesNow(state) ? withRoomyNodes(state) : state),
  },
  {
    name: "a promise is dropped without a word",
    found: /has begun \d+ tasks|no task left|is attempt \d+ of its task/,
    bendState: (state) => view(state, { nominations: new Map() }),
  },
  ...plantedInBounds,
  ...plantedLosses,
];
