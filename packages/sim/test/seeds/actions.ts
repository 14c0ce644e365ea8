/** Actions on a random world: inputs from users, operators and machines, and from faulty executors. */
import { PROPOSAL_KINDS, attemptId, commandId, nodeId, rulesOf, usualProposalRules, workloadId } from "@headroom/model";
import type { Command, Input, NodeSpec, WorkloadChanges, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { LostDomains, type DomainChange } from "./domains.ts";
import type { Luck } from "./luck.ts";
import { proposalCommand } from "./proposals.ts";
import { orderCommand } from "./orders.ts";
import { answers, foreignWork, silence } from "./silences.ts";
import { calendarChange, hasTwin, noticeOf } from "./plans.ts";
import { randomPolicy } from "./policies.ts";
import {
  label,
  randomAmounts,
  randomLimit,
  randomSpec,
  randomTeamShare,
  withAntiAffinity,
  withData,
  withGroups,
  withParts,
  type World,
} from "./world.ts";

export interface Happening {
  readonly inputs: readonly Input[];
  /**
   * Machines that really fail or return with the input. Inputs about other machines are false reports, as after a cut
   * cable.
   */
  readonly dies: readonly NodeSpec["id"][];
  readonly returns: readonly NodeSpec["id"][];
}

export class Actions {
  readonly #luck: Luck;
  readonly #world: World;
  readonly #salt: string;
  readonly #domains: LostDomains;
  #count = 0;
  #removals = 0;
  #orders = 0;
  #endpoints = 0;
  #proposals = 0;
  #keyed: Command | null = null;
  #last: { readonly spec: WorkloadSpec; readonly actor: string } | null = null;

  constructor(luck: Luck, world: World, salt: string) {
    this.#luck = luck;
    this.#world = world;
    this.#salt = salt;
    this.#domains = new LostDomains(world.fleet);
  }

  /** One to four actions at one instant. */
  next(state: ReadonlyState): Happening {
    const inputs: Input[] = [];
    const dies: NodeSpec["id"][] = [];
    const returns: NodeSpec["id"][] = [];
    const count = this.#luck.pick([1, 1, 1, 2, 4]);
    for (let each = 0; each < count; each++) {
      const roll = this.#luck.below(100);
      if (roll < 55) inputs.push(this.#submit());
      else if (roll < 75) inputs.push(this.#node(state, dies, returns));
      else if (roll < 80) inputs.push(this.#stop(state));
      else if (roll < 83) inputs.push(this.#hold(state));
      else if (roll < 90) inputs.push(this.#govern());
      else inputs.push(this.#stranger(state));
    }
    const planned = calendarChange(this.#luck.aside(`calendar ${this.#count}`), this.#world, state);
    const notice = noticeOf(this.#luck.aside(`notice ${this.#count}`), this.#world, state.nowMs);
    const changed = this.#change(state);
    const removal = this.#removal(state);
    const ordered = this.#order(state);
    const proposed = this.#proposal(state);
    const scaled = this.#endpoint(state);
    const silenced = silence(this.#luck.aside(`silence ${this.#count} ${state.nowMs}`), state);
    const foreign = foreignWork(this.#luck.aside(`foreign ${this.#count} ${state.nowMs}`), state);
    for (const more of [planned, notice, changed, removal, ordered, proposed, scaled, silenced, foreign])
      if (more !== null) inputs.push(more);
    const together = this.#domain(state);
    inputs.push(...together.inputs);
    return { inputs, dies: [...dies, ...together.dies], returns: [...returns, ...together.returns] };
  }

  #domain(state: ReadonlyState): DomainChange {
    if (!this.#world.losesDomains) return { inputs: [], dies: [], returns: [] };
    return this.#domains.next(this.#luck.aside(`domain ${this.#count} ${state.nowMs}`), state, (id) => {
      const declared = this.#world.fleet.nodes.find((node) => node.id === id);
      return declared === undefined ? null : currentSpec(state, declared);
    });
  }

  /** Removes everything that prevents waiting work from running. */
  heal(state: ReadonlyState): Happening {
    const lost = this.#world.fleet.nodes.filter(({ id }) => state.nodes.get(id)?.health !== "up");
    const gone = this.#world.fleet.pools.filter(({ name }) => !state.pools.has(name) || state.poolRemovals.has(name));
    const declared = gone.map(({ hotSpares: _spares, ...pool }) => state.pools.get(pool.name) ?? pool);
    const again: Input[] =
      gone.length === 0
        ? []
        : [{ ...this.#common(), kind: "apply", sites: [], pools: declared, teams: [], workloads: [] }];
    const seen = this.#world.fleet.nodes.map((node): Input => ({ kind: "nodeSeen", node: currentSpec(state, node) }));
    const resumed = this.#world.fleet.nodes.map(({ id }): Input => ({
      ...this.#common(),
      kind: "resumeNode",
      nodeId: id,
    }));
    const teams = this.#world.teams.map(({ name, parent }) => ({ name, parent, limit: {} }));
    // Releases reservations for work that needs the whole fleet.
    const pools = [...state.pools.values()].flatMap(({ hotSpares, ...pool }) =>
      hotSpares === undefined ? [] : [pool],
    );
    const apply: Input = { ...this.#common(), kind: "apply", sites: [], pools, teams, workloads: [] };
    const held = [...state.workloads.values()].filter(
      (workload) => workload.held === true && workload.endedAtMs === null,
    );
    const released = held.map(({ id }): Input => ({ ...this.#common(), kind: "releaseWorkload", workloadId: id }));
    // Work that only reserved topology guarantees waits forever if its team owns no reserved topology.
    const { strategy: _hived, ...policy } = state.policy;
    const { reservedTopology } = rulesOf(state.policy).teams;
    const plain: Input[] = reservedTopology === undefined ? [] : [{ ...this.#common(), kind: "setPolicy", policy }];
    // Endpoints never end by themselves.
    const endpoints = [...state.workloads.values()].filter(({ scale, endedAtMs }) => scale && endedAtMs === null);
    const stopped = endpoints.map(({ id }): Input => ({ ...this.#common(), kind: "stopWorkload", workloadId: id }));
    // Automatic drains that wait for the budget of change would close nodes again.
    const advised: Input[] = PROPOSAL_KINDS.map((kind) => ({
      ...this.#common(),
      kind: "setProposalRule",
      rule: { ...usualProposalRules[kind], mode: "advise" },
    }));
    const inputs = [
      ...advised,
      ...answers(state),
      ...again,
      ...seen,
      ...resumed,
      apply,
      ...plain,
      ...released,
      ...stopped,
    ];
    return { inputs, dies: [], returns: lost.map(({ id }) => id) };
  }

  #common(): { commandId: Command["commandId"]; actor: string; idempotencyKey: string | null } {
    return { commandId: commandId(`c${++this.#count}`), actor: "someone", idempotencyKey: null };
  }

  #submit(): Input {
    if (this.#keyed !== null && this.#luck.chance(10)) {
      return { ...this.#keyed, commandId: commandId(`c${++this.#count}`) };
    }
    const plain = randomSpec(this.#luck, this.#world, label(`w-${this.#count}`, this.#salt));
    const inGroups = withGroups(this.#luck.aside(`groups ${this.#count}`), this.#world, plain);
    const inParts = withParts(this.#luck.aside(`parts ${this.#count}`), this.#world, inGroups);
    const ofData = withData(this.#luck.aside(`data ${this.#count}`), this.#world, inParts);
    const own = {
      spec: withAntiAffinity(this.#luck.aside(`apart ${this.#count}`), this.#world, ofData),
      actor: this.#luck.aside(`user ${this.#count}`).pick(["someone", "somebody else", "a third"]),
    };
    const last = hasTwin(this.#luck.aside(`twin ${this.#count}`)) ? this.#last : null;
    const { spec, actor } = last === null ? own : { ...last, spec: { ...last.spec, name: own.spec.name } };
    this.#last = { spec, actor };
    const command: Command = { ...this.#common(), actor, kind: "submitWorkload", spec };
    if (!this.#luck.chance(10)) return command;
    this.#keyed = { ...command, idempotencyKey: `key-${this.#count}` };
    return this.#keyed;
  }

  #node(state: ReadonlyState, dies: NodeSpec["id"][], returns: NodeSpec["id"][]): Input {
    const node = this.#luck.pick(this.#world.fleet.nodes);
    const { id } = node;
    switch (this.#luck.below(6)) {
      case 0:
        if (this.#luck.chance(70)) dies.push(id);
        return { kind: "nodeUnreachable", nodeId: id, detail: "gone" };
      case 1:
      case 2:
        returns.push(id);
        return { kind: "nodeSeen", node: currentSpec(state, node) };
      case 3:
        return { ...this.#common(), kind: "drainNode", nodeId: id, running: this.#luck.pick(["wait", "requeue"]) };
      case 4:
        return { ...this.#common(), kind: "resumeNode", nodeId: id };
      default:
        returns.push(id);
        return {
          kind: "nodeSeen",
          node: { ...node, ...randomAmounts(this.#luck, acceleratorTypeOf(this.#world, node)) },
        };
    }
  }

  #stop(state: ReadonlyState): Input {
    const open = [...state.workloads.values()].filter(({ endedAtMs }) => endedAtMs === null);
    const id = open.length === 0 ? workloadId("w999999") : this.#luck.pick(open).id;
    return { ...this.#common(), kind: "stopWorkload", workloadId: id };
  }

  #hold(state: ReadonlyState): Input {
    const aside = this.#luck.aside(`rerun ${this.#count}`);
    const ended = [...state.workloads.values()].filter(({ endedAtMs }) => endedAtMs !== null);
    if (ended.length > 0 && aside.chance(30))
      return { ...this.#common(), kind: "rerunWorkload", workloadId: aside.pick(ended).id };
    const open = [...state.workloads.values()].filter(({ endedAtMs }) => endedAtMs === null);
    const id = open.length === 0 ? workloadId("w999999") : this.#luck.pick(open).id;
    return { ...this.#common(), kind: this.#luck.pick(["holdWorkload", "releaseWorkload"]), workloadId: id };
  }

  /** A removal of a node, or of its pool. Like the draws below, its draws are apart from the others. */
  #removal(state: ReadonlyState): Input | null {
    const luck = this.#luck.aside(`removal ${this.#count}`);
    if (!luck.chance(8)) return null;
    const { id: nodeId, pool } = luck.pick(this.#world.fleet.nodes);
    const running = luck.pick<"refuse" | "requeue">(["refuse", "requeue", "requeue"]);
    // The counter of the other commands seeds their draws, so it does not count removals.
    const common = { commandId: commandId(`r${++this.#removals}`), actor: "someone", idempotencyKey: null };
    if (luck.chance(15)) return { ...common, kind: "removePool", pool, running };
    // A removed node joins again when its machine is reported.
    if (!state.nodes.has(nodeId)) return null;
    return { ...common, kind: "removeNode", nodeId, running };
  }

  #proposal(state: ReadonlyState): Input | null {
    const common = { commandId: commandId(`p${++this.#proposals}`), actor: "someone", idempotencyKey: null };
    return proposalCommand(this.#luck.aside(`proposal ${this.#proposals}`), state, common);
  }

  #order(state: ReadonlyState): Input | null {
    // Like removals, orders have draws and a counter of their own, so recorded seeds keep their other actions.
    const common = { commandId: commandId(`o${++this.#orders}`), actor: "someone", idempotencyKey: null };
    const where = { fleet: this.#world.fleet, salt: this.#salt, state };
    return orderCommand(this.#luck.aside(`order ${this.#orders}`), where, common);
  }

  /** A change of work in place. Its draws are apart from the others, so recorded seeds keep their other actions. */
  #change(state: ReadonlyState): Input | null {
    const luck = this.#luck.aside(`change ${this.#count}`);
    const open = [...state.workloads.values()].filter(({ endedAtMs }) => endedAtMs === null);
    if (open.length === 0 || !luck.chance(12)) return null;
    const { id: workloadId, spec } = luck.pick(open);
    const all: WorkloadChanges = {
      name: label(`renamed-${this.#count}`, this.#salt),
      priority: luck.pick([-1, 0, 1, 100]),
      walltimeMs: luck.pick([null, 1_000, 60_000, 3_600_000]),
      workers: luck.between(1, 2 * spec.gang.workers),
      minWorkers: luck.pick([null, 1]),
      hold: luck.chance(30),
      after: luck.chance(50) ? [] : [{ workload: luck.pick(open).id, on: luck.pick(["ok", "any"]) }],
      notBeforeMs: luck.pick([null, state.nowMs + 60_000]),
      retries: { ...spec.retries, max: luck.below(4) },
      env: { SEED: luck.pick(["1", null]) },
    };
    const changes = Object.fromEntries(Object.entries(all).filter(() => luck.chance(25)));
    return { ...this.#common(), kind: "changeWorkload", workloadId, changes };
  }

  /** Another number of replicas, or a report about the readiness of one. Draws and counter are apart, as for removals. */
  #endpoint(state: ReadonlyState): Input | null {
    const luck = this.#luck.aside(`endpoint ${++this.#endpoints}`);
    const open = [...state.workloads.values()].filter(
      ({ scale, endedAtMs }) => scale !== undefined && endedAtMs === null,
    );
    if (open.length === 0 || !luck.chance(40)) return null;
    const { id, activeAttempts } = luck.pick(open);
    if (activeAttempts.length > 0 && luck.chance(60)) {
      const attempt = luck.pick(activeAttempts);
      return luck.chance(70)
        ? { kind: "replicaReady", attemptId: attempt, address: "127.0.0.1:8000" }
        : { kind: "replicaNotReady", attemptId: attempt, detail: "no answer" };
    }
    const common = { commandId: commandId(`e${this.#endpoints}`), actor: "someone", idempotencyKey: null };
    const min = luck.between(0, 2);
    const changes: WorkloadChanges = luck.chance(80)
      ? { replicaCount: luck.between(0, 4) }
      : { replicas: { min, max: min + luck.between(1, 2) } };
    return { ...common, kind: "changeWorkload", workloadId: id, changes };
  }

  #govern(): Input {
    const { heedsNames, hasBudgets } = this.#world;
    if (this.#luck.chance(40))
      return { ...this.#common(), kind: "setPolicy", policy: randomPolicy(this.#luck, heedsNames) };
    const { name, parent } = this.#luck.pick(this.#world.teams);
    const team = { name, parent, limit: randomLimit(this.#luck), ...randomTeamShare(this.#luck, hasBudgets) };
    return { ...this.#common(), kind: "apply", sites: [], pools: [], teams: [team], workloads: [] };
  }

  /** Reports that are late, repeated or about the wrong attempt, and reports of processes. */
  #stranger(state: ReadonlyState): Input {
    const known = [...state.attempts.keys()];
    const id = known.length === 0 || this.#luck.chance(30) ? attemptId("w1.1") : this.#luck.pick(known);
    switch (this.#luck.below(6)) {
      case 0:
        return { kind: "attemptRunning", attemptId: id };
      case 1:
        return { kind: "nodeUnreachable", nodeId: nodeId("nowhere"), detail: "?" };
      case 2:
        return { kind: "attemptLost", attemptId: id, detail: "its supervisor vanished" };
      case 3:
        return {
          kind: "progressReported",
          attemptId: id,
          step: this.#luck.below(100),
          totalSteps: 100,
          metrics: { loss: 2 },
        };
      case 4:
        return {
          kind: "checkpointReported",
          attemptId: id,
          step: this.#luck.below(100),
          path: label("step-1", this.#salt),
        };
      default:
        return { kind: "tick" };
    }
  }
}

function currentSpec(state: ReadonlyState, declared: NodeSpec): NodeSpec {
  const node = state.nodes.get(declared.id);
  if (node === undefined) return declared;
  const { id, pool, fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax } = node;
  const optional = { ...(labels === undefined ? {} : { labels }), ...(workersMax === undefined ? {} : { workersMax }) };
  return { id, pool, fabric, acceleratorCount, coresMilli, memoryMib, ...optional };
}

function acceleratorTypeOf(world: World, node: NodeSpec): string {
  return world.fleet.pools.find(({ name }) => name === node.pool)?.acceleratorType ?? "";
}
