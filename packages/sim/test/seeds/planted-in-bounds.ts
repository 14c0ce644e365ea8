/**
 * Planted bugs other than wrong placements: protected starts, windows, budgets, migrations, users, data, anti-affinity,
 * hot spares.
 */
import type { Attempt, AttemptId, Effect, CalendarEntry, Event, Input, Policy, Team } from "@headroom/model";
import type { Ready, ReadonlyState } from "@headroom/engine";
import { view, withAll, withAttempts, withSpecs, withTeams, type PlantedBug } from "./bent-views.ts";

const withCalendar = (state: ReadonlyState, bend: (entry: CalendarEntry) => CalendarEntry): ReadonlyState =>
  view(state, { calendar: withAll(state.calendar, (item) => ({ ...item, entry: bend(item.entry) })) });

const withDefragmentation = (state: ReadonlyState, bend: Partial<NonNullable<Policy["defragment"]>>): ReadonlyState => {
  const { defragment, ...policy } = state.policy;
  return defragment === undefined
    ? state
    : view(state, { policy: { ...policy, defragment: { ...defragment, ...bend } } });
};

const withEvents = (ready: Ready, bend: (event: Event) => readonly Event[]): Ready => ({
  ...ready,
  events: ready.events.flatMap(bend),
});

const withEffects = (ready: Ready, bend: (effect: Effect) => Effect): Ready => ({
  ...ready,
  effects: ready.effects.map(bend),
});

const isOnLeavingNode = ({ nodes }: ReadonlyState, { workers }: Attempt): boolean =>
  workers.some(({ node }) => nodes.get(node)?.removal !== undefined);

/** Windows and removals evict for one reason. A promise of a place that is freed would be found broken first. */
const withoutDrains = (state: ReadonlyState, isBent: (attempt: Attempt) => boolean): ReadonlyState =>
  withAttempts(state, (attempt) =>
    attempt.stop?.reason === "nodeDrained" && state.nominations.size === 0 && isBent(attempt)
      ? { ...attempt, stop: null, phase: attempt.startedAtMs === null ? "launching" : "running" }
      : attempt,
  );

/** Gives the engine other policies than the checkers. */
const withPolicies = (inputs: readonly Input[], bend: (policy: Policy) => Policy): readonly Input[] =>
  inputs.map((input) => (input.kind === "setPolicy" ? { ...input, policy: bend(input.policy) } : input));

const toldOfTeams = (inputs: readonly Input[], bend: (team: Team) => Team): readonly Input[] =>
  inputs.map((input) => (input.kind === "apply" ? { ...input, teams: input.teams.map(bend) } : input));

const overBudget = (team: Team, over: "warn" | "hold" | "stop"): Team =>
  team.budget === undefined ? team : { ...team, budget: { ...team.budget, over } };

const reserving = (policy: Policy, protectedStarts: 0 | 1): Policy => ({
  ...policy,
  backfill: { ...(policy.backfill ?? { assumedWalltimeMs: 86_400_000 }), protectedStarts },
});

const never = { minutes: [], hours: [], daysOfMonth: [], months: [], daysOfWeek: [] };

const hasHotSpares = ({ nodes }: ReadonlyState): boolean =>
  [...nodes.values()].some(({ hotSpare }) => hotSpare === true);

/** Places replacements for lost workers on a lost or draining node. */
function onLostNodes(ready: Ready, { nodes }: ReadonlyState): Ready {
  const closed = [...nodes.values()].find(({ health, draining }) => health === "lost" || draining);
  if (closed === undefined) return ready;
  const bent = withEvents(ready, (event) =>
    event.kind === "workersReplaced"
      ? [{ ...event, workers: event.workers.map((worker) => ({ ...worker, node: closed.id })) }]
      : [event],
  );
  return withEffects(bent, (effect) =>
    effect.kind === "replaceWorkers"
      ? {
          ...effect,
          workers: effect.workers.map((each) => ({ ...each, worker: { ...each.worker, node: closed.id } })),
        }
      : effect,
  );
}

/** Shrinks a gang to one worker below its minimum. */
function tooSmall(ready: Ready, state: ReadonlyState): Ready {
  const keptBy = (id: AttemptId, keeps: number): number => {
    const attempt = state.attempts.get(id);
    const gang = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId)?.spec.gang;
    const least = gang?.minWorkers ?? 1;
    return keeps === 0 || least === 1 ? keeps : least - 1;
  };
  const bent = withEvents(ready, (event) => {
    if (event.kind === "gangShrinkRequested") return [{ ...event, workers: keptBy(event.attemptId, event.workers) }];
    if (event.kind !== "evictionPlanned") return [event];
    return [
      {
        ...event,
        victims: event.victims.map((victim) => ({ ...victim, keeps: keptBy(victim.attemptId, victim.keeps) })),
      },
    ];
  });
  return withEffects(bent, (effect) =>
    effect.kind === "shrinkGang" ? { ...effect, workers: keptBy(effect.attemptId, effect.workers) } : effect,
  );
}

export const plantedInBounds: readonly PlantedBug[] = [
  {
    name: "work goes past a protected start and delays it",
    found: /went past w\d+ and delayed its start/,
    bendInputs: (inputs) => withPolicies(inputs, (policy) => reserving(policy, 0)),
    bendState: (state) => view(state, { policy: reserving(state.policy, 1) }),
  },
  {
    name: "of two that are alike the second goes first",
    found: /which is like it and comes first, waits|is out of the order of submission/,
    bendState: (state) =>
      state.policy.whenHeadBlocked === "skip" && (state.policy.backfill?.protectedStarts ?? 0) === 0
        ? view(state, { workloads: withAll(state.workloads, (each) => ({ ...each, ordinal: -each.ordinal })) })
        : state,
  },
  {
    name: "more is migrated within an hour than the policy allows",
    found: /migrations within an hour, the policy allows 0/,
    bendState: (state) => withDefragmentation(state, { migrationsPerHour: 0 }),
  },
  {
    name: "what was migrated is migrated again before it has rested",
    found: /was migrated at \d+ ms and again at/,
    bendReady: (ready) =>
      withEvents(ready, (event) =>
        event.kind === "evictionPlanned" && event.pairsGathered !== undefined ? [event, event] : [event],
      ),
  },
  {
    name: "migrations cost more than they gain",
    found: /loses \d+ ms by a migration/,
    bendState: (state) => withDefragmentation(state, { lossPerPairMs: 0 }),
  },
  {
    name: "migrations are made at any time",
    found: /outside of the policy's times/,
    bendState: (state) => withDefragmentation(state, { during: { times: never, lastsMs: 1 } }),
  },
  {
    name: "migrations gather less than they say",
    found: /is said to gather \d+ pairs/,
    bendReady: (ready) =>
      withEvents(ready, (event) =>
        event.kind === "evictionPlanned" && event.pairsGathered !== undefined
          ? [{ ...event, pairsGathered: event.pairsGathered + 1 }]
          : [event],
      ),
  },
  {
    name: "work is placed where it runs into a window",
    found: /where it may run into/,
    bendState: (state) =>
      withCalendar(state, (entry) =>
        // States with hot spares stay unchanged, because the check of the calendar also covers hot spares.
        entry.kind === "tariff" || entry.startMs <= state.nowMs || hasHotSpares(state)
          ? entry
          : { ...entry, startMs: Math.max(state.nowMs + 1, entry.startMs - 5000) },
      ),
  },
  {
    name: "what is kept for one team is open to all",
    found: /where it may run into|runs on in [\w-]+, which has begun/,
    bendState: (state) =>
      withCalendar(state, (entry) => {
        if (entry.kind !== "reservation" || entry.team === undefined) return entry;
        const { team: _team, ...rest } = entry;
        return { ...rest, users: ["nobody"] };
      }),
  },
  {
    name: "a window begins and nobody leaves",
    found: /runs on in [\w-]+, which has begun/,
    bendState: (state) => withoutDrains(state, (attempt) => !isOnLeavingNode(state, attempt)),
  },
  {
    name: "a node is removed and its work runs on",
    found: /runs on [\w-]+, which is leaving/,
    bendState: (state) => withoutDrains(state, (attempt) => isOnLeavingNode(state, attempt)),
  },
  {
    name: "a node of a silent executor takes work",
    found: /is not suspended, its executor is unreachable/,
    bendState: (state) =>
      view(state, {
        nodes: withAll(state.nodes, ({ suspended: _suspended, ...node }) => node),
      }),
  },
  {
    name: "a silent executor answers, and its nodes stay suspended",
    found: /is suspended, its executor is reachable/,
    bendState: (state) =>
      view(state, {
        executorStates: withAll(state.executorStates, (each) => ({ ...each, phase: "reachable" as const })),
      }),
  },
  {
    name: "accelerators that foreign work uses count as free",
    found: /is indexed as (?:free|taken) and is not|spares of \S+ are kept/,
    bendState: (state) =>
      view(state, {
        nodes: withAll(state.nodes, ({ foreignUse: _foreign, ...node }) => node),
      }),
  },
  {
    name: "an ordered node joins and is not counted",
    found: /joined [\w-]+ and does not count against/,
    bendReady: (ready) => withEvents(ready, (event) => (event.kind === "capacityOrderNodeJoined" ? [] : [event])),
  },
  {
    name: "an order forgets a node that has joined",
    found: /has \d+ nodes, and says \d+/,
    bendState: (state) =>
      view(state, {
        capacityOrders: withAll(state.capacityOrders, (order) => ({
          ...order,
          joinedCount: Math.max(0, order.joinedCount - 1),
        })),
      }),
  },
  {
    name: "more proposals are acted on than the budget of change allows",
    found: /proposals were acted on within an hour, and the budget is/,
    bendInputs: (inputs) =>
      inputs.map((input) =>
        input.kind === "setProposalRule"
          ? { ...input, rule: { ...input.rule, mode: "automatic", perHourMax: 9 } }
          : input,
      ),
    bendState: (state) =>
      view(state, { proposalRules: withAll(state.proposalRules, (rule) => ({ ...rule, perHourMax: 1 })) }),
  },
  {
    name: "work starts beyond a budget",
    found: /was started with the budget of [\w-]+ used up/,
    bendInputs: (inputs) => toldOfTeams(inputs, (team) => overBudget(team, "warn")),
    bendState: (state) => withTeams(state, (team) => overBudget(team, "hold")),
  },
  {
    name: "what runs beyond a budget that stops it runs on",
    found: /runs on with its team's budget used up/,
    bendInputs: (inputs) => toldOfTeams(inputs, (team) => overBudget(team, "hold")),
    bendState: (state) => withTeams(state, (team) => overBudget(team, "stop")),
  },
  {
    name: "half of what is used up is not counted",
    found: /and nobody says that they are used up/,
    bendState: (state) =>
      withTeams(state, (team) =>
        team.budget?.gpuHours === undefined
          ? team
          : { ...team, budget: { ...team.budget, gpuHours: team.budget.gpuHours / 2 } },
      ),
  },
  {
    name: "restricted work leaves its places",
    found: /does not admit what is under rule/,
    bendState: (state) =>
      view(state, {
        pools: withAll(state.pools, (pool) => ({ ...pool, data: { ...pool.data, rules: [] } })),
      }),
  },
  {
    name: "work that keeps apart lies together",
    found: /lie too near to each other/,
    bendState: (state) =>
      withSpecs(state, (spec) =>
        spec.gang.antiAffinity === undefined
          ? spec
          : { ...spec, gang: { ...spec.gang, antiAffinity: { exclusive: true } } },
      ),
  },
  {
    name: "one user holds more than one may",
    found: /above the limit per user/,
    bendState: (state) =>
      withTeams(state, ({ userLimit, ...team }) =>
        userLimit === undefined
          ? team
          : {
              ...team,
              userLimit: Object.fromEntries(Object.entries(userLimit).map(([type, most]) => [type, most >> 1])),
            },
      ),
  },
  {
    name: "work that waits for cheap power starts at any price",
    found: /was started while power is too dear for it/,
    bendState: (state) =>
      withCalendar(state, (entry) => (entry.kind === "tariff" ? { ...entry, microUsdPerKwh: 1000 } : entry)),
  },
  {
    name: "work starts before its time",
    found: /was started before \d+ ms/,
    bendState: (state) =>
      withSpecs(state, (spec) =>
        spec.notBeforeMs === undefined ? spec : { ...spec, notBeforeMs: spec.notBeforeMs + 10_000 },
      ),
  },
  {
    name: "work starts before that has ended which it comes after",
    found: /which it waits for, has not ended|was rerun before it had ended/,
    bendReady: (ready) => withEvents(ready, (event) => (event.kind === "workloadEnded" ? [] : [event])),
  },
  {
    name: "work is predicted to run longer than such work took",
    found: /is predicted to run \d+ ms, such work took/,
    bendReady: (ready) =>
      withEvents(ready, (event) =>
        event.kind === "gangPlaced" && event.prediction !== undefined
          ? [{ ...event, prediction: { ...event.prediction, durationMs: event.prediction.durationMs + 1 } }]
          : [event],
      ),
  },
  {
    name: "spares are given away",
    found: /is kept as a spare, and somebody has a place there/,
    bendState: (state) => {
      const given = new Set([...state.attempts.values()].map(({ workers }) => workers[0]?.node));
      return view(state, {
        nodes: withAll(state.nodes, (node) =>
          given.has(node.id) && state.pools.get(node.pool)?.hotSpares !== undefined
            ? { ...node, hotSpare: true }
            : node,
        ),
      });
    },
  },
  {
    name: "lost workers come back where nothing may run",
    found: /was placed on [\w-]+, which takes no work/,
    bendReady: onLostNodes,
  },
  {
    name: "parts of one accelerator overlap",
    found: /a slice of .* is given out twice/,
    bendState: (state) =>
      withAttempts(state, (attempt) => ({
        ...attempt,
        workers: attempt.workers.map((worker) =>
          worker.slice === undefined ? worker : { ...worker, accelerators: "0", slice: 0 },
        ),
      })),
  },
  {
    name: "gangs shrink below their least",
    found: /keeps \d+ workers, it needs \d+/,
    bendReady: tooSmall,
  },
];
