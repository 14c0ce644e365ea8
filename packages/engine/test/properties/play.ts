/** Plays a generated story: converts its moves to inputs that fit the current state. */
import { attemptId, commandId, nodeId, poolName, siteName, teamName, workloadId } from "@headroom/model";
import type { DataPlace, Pool, AttemptId, Command, Input, NodeSpec, Site, Tariff, WorkerExit } from "@headroom/model";
import type { Engine, Ready } from "../../src/index.ts";
import { pool } from "../lab/make.ts";
import { teamNames, types } from "./worlds.ts";
import type { Move, NodeGene, Step, World } from "./worlds.ts";

const site: Site = { name: siteName("dc"), fabricLevels: ["spine", "leaf"] };

/** The accelerators of a pool, divided by MIG or not. */
const withMig = (type: (typeof types)[number], isDivided: boolean): Pick<Pool, "mig"> =>
  isDivided && type !== "" ? { mig: `${type}-80GB` } : {};

/** Memory of the accelerators of two types; pools of others do not state it. */
const memories: Readonly<Record<string, number>> = { A100: 40 * 1024, H100: 80 * 1024 };
const withMemory = (type: (typeof types)[number]): Pick<Pool, "acceleratorMemoryMib"> =>
  memories[type] === undefined ? {} : { acceleratorMemoryMib: memories[type] };

/** Data fields of a site or pool; none if it states no data rule. */
const withData = (data: DataPlace | undefined): { readonly data?: DataPlace } =>
  data === undefined || Object.keys(data).length === 0 ? {} : { data };

/** Kinds of workload that some pools take alone. */
function withKinds(pick: number): Pick<Pool, "kinds"> {
  if (pick % 5 !== 1) return {};
  return { kinds: pick % 2 === 0 ? ["train"] : ["batch", "serve"] };
}

/** The draw of a pool's nodes. One type does not state it. */
const withPower = (type: (typeof types)[number]): Pick<Pool, "power"> =>
  type === types.at(-1) ? {} : { power: { acceleratorWatts: 100, nodeWatts: 40 } };

/** Caps of the site, most of them too small for all accelerators below them. */
function withCaps(pick: number): Pick<Site, "caps"> {
  if (pick % 4 === 0) return {};
  const level = ["leaf", "spine", "site"][pick % 3] ?? "leaf";
  const all = { of: "power", level, watts: 250 + (pick % 7) * 230 } as const;
  return { caps: pick % 2 === 0 ? [all] : [all, { of: "cooling", level: "leaf", watts: 300 + (pick % 5) * 200 }] };
}

/** Hot spares of a pool; no field if it keeps none. */
const withHotSpares = (hotSpares = 0): { readonly hotSpares?: number } => (hotSpares === 0 ? {} : { hotSpares });

/** History that a story refers to: all attempts that were ever placed. Shared by engines that run the same story. */
export class Story {
  readonly #everPlaced: AttemptId[] = [];
  #commandCount = 0;

  /** The first batch: site, pools, teams, nodes and policy of the world. */
  capacityEpoch({ policy, nodes, teams, data, hotSpares, isDivided }: World): readonly Input[] {
    const pools = types.map((type, index) => ({
      ...pool(type),
      ...withData(data[index]),
      ...withHotSpares(hotSpares[index]),
      ...withMig(type, isDivided),
      ...withMemory(type),
      ...withPower(type),
    }));
    return [
      this.#command({ kind: "apply", sites: [{ ...site, ...withData(data.at(-1)) }], pools, teams, workloads: [] }),
      this.#command({ kind: "setPolicy", policy }),
      ...nodes.map((gene, index): Input => ({ kind: "nodeSeen", node: nodeOf(gene, index) })),
    ];
  }

  inputs({ moves }: Step, engine: Engine): readonly Input[] {
    return moves.flatMap((move) => this.inputsOf(move, engine));
  }

  inputsOf(move: Move, engine: Engine): readonly Input[] {
    const { state } = engine;
    switch (move.kind) {
      case "tick":
        return [{ kind: "tick" }];
      case "submit": {
        const key = move.key === null ? null : `key-${move.key}`;
        return [{ ...this.#command({ kind: "submitWorkload", spec: move.spec }), idempotencyKey: key }];
      }
      case "stop":
        return [
          this.#command({
            ...(move.pick % 3 === 0 ? { kind: "stopTask", task: move.pick % 5 } : { kind: "stopWorkload" }),
            workloadId: workloadId(`w${move.pick % (state.submittedCount + 2)}`),
          }),
        ];
      case "hold":
      case "release": {
        const id = workloadId(`w${move.pick % (state.submittedCount + 2)}`);
        // Ended work cannot be released; it runs again instead.
        const isOver = move.kind === "release" && (state.workloads.get(id)?.endedAtMs ?? null) !== null;
        if (isOver) return [this.#command({ kind: "rerunWorkload", workloadId: id })];
        return [this.#command({ kind: move.kind === "hold" ? "holdWorkload" : "releaseWorkload", workloadId: id })];
      }
      case "change":
        return [
          this.#command({
            kind: "changeWorkload",
            workloadId: workloadId(`w${move.pick % (state.submittedCount + 2)}`),
            changes: move.changes,
          }),
        ];
      case "obey":
        return obedience(engine).slice(0, 1 + (move.pick % 3));
      case "removeTeam":
        return [
          this.#command({ kind: "removeTeam", team: teamName(teamNames[move.pick % teamNames.length] as string) }),
        ];
      case "apply":
        return [this.#command({ kind: "apply", sites: [], pools: [], teams: move.teams, workloads: move.workloads })];
      case "data": {
        const type = types[move.pick % (types.length + 1)];
        const places =
          type === undefined
            ? { sites: [{ ...site, ...withData(move.data), ...withCaps(move.pick) }], pools: [] }
            : {
                sites: [],
                pools: [
                  {
                    ...pool(type),
                    ...withData(move.data),
                    ...withMig(type, move.pick % 3 > 0),
                    ...withMemory(type),
                    ...withKinds(move.pick),
                    ...withPower(type),
                  },
                ],
              };
        return [this.#command({ kind: "apply", ...places, teams: [], workloads: [] })];
      }
      case "cache": {
        const node = [...state.nodes.values()][move.pick % Math.max(1, state.nodes.size)];
        const executor = node === undefined ? undefined : state.pools.get(node.pool)?.executor;
        if (node === undefined || executor === undefined) return [];
        return [
          { kind: "nodeCachesSeen", executor, caches: [{ nodeId: node.id, inputs: move.inputs }] },
          ...storesOf(engine, move),
        ];
      }
      case "hotSpares": {
        const pools = [
          {
            ...pool(types[move.pick % types.length] ?? ""),
            ...withHotSpares(move.hotSpares),
            ...withPower(types[move.pick % types.length] ?? ""),
          },
        ];
        return [this.#command({ kind: "apply", sites: [], pools, teams: [], workloads: [] })];
      }
      case "tariff": {
        const { microUsdPerKwh, lastsMs, pick } = move;
        const when = { kind: "once", startMs: engine.state.nowMs, endMs: engine.state.nowMs + lastsMs } as const;
        const name = `tariff-${pick % 3}`;
        const entry = { kind: "tariff", name, when, microUsdPerKwh } as const;
        const calendar =
          pick % 5 === 0
            ? [forecastOf(name, when, microUsdPerKwh)]
            : [pick % 2 === 0 ? entry : { ...entry, gramsPerKwh: microUsdPerKwh }];
        return [this.#command({ kind: "apply", sites: [], pools: [], teams: [], workloads: [], calendar })];
      }
      case "policy":
        return [this.#command({ kind: "setPolicy", policy: move.policy })];
      case "drain": {
        // A third of the drains remove the node instead, some of them its pool or the site.
        const removal = removalOf(engine, move);
        if (removal !== null) return [this.#command(removal)];
        return [
          this.#command({
            kind: "drainNode",
            nodeId: nodeAt(engine, move.pick),
            running: move.requeue ? "requeue" : "wait",
          }),
        ];
      }
      case "resume":
        return [this.#command({ kind: "resumeNode", nodeId: nodeAt(engine, move.pick) })];
      case "lost":
        return [{ kind: "nodeUnreachable", nodeId: nodeAt(engine, move.pick), detail: "gone" }];
      case "seen":
        return [{ kind: "nodeSeen", node: seenAgain(engine, move) }];
      default:
        return [this.#attemptInput(move, engine)];
    }
  }

  /** Records the attempts of a batch; must be called for every batch. */
  remember({ events }: Ready): void {
    for (const event of events) if (event.kind === "gangPlaced") this.#everPlaced.push(event.attemptId);
  }

  #attemptInput(move: Extract<Move, { readonly late: boolean }>, engine: Engine): Input {
    const known = move.late ? this.#everPlaced : [...engine.state.attempts.keys()];
    const id = known[move.pick % Math.max(known.length, 1)] ?? attemptId("w0.1");
    switch (move.kind) {
      case "running":
        return { kind: "attemptRunning", attemptId: id };
      case "ready":
        return { kind: "replicaReady", attemptId: id, address: `127.0.0.1:${8000 + (move.pick % 3)}` };
      case "unready":
        return { kind: "replicaNotReady", attemptId: id, detail: "refused" };
      case "gone":
        return { kind: "attemptLost", attemptId: id, detail: "" };
      case "left":
        return { kind: "workersLeft", attemptId: id };
      case "joined":
        return { kind: "workersJoined", attemptId: id };
      case "unjoined": {
        const workers = 1 + (move.pick % 4);
        return { kind: "joinFailed", attemptId: id, workers, detail: "" };
      }
      case "progress":
        if (move.pick % 3 === 0) return used(id, move.pick);
        return {
          kind: "progressReported",
          attemptId: id,
          step: move.pick,
          totalSteps: move.pick + 1,
          metrics: { loss: move.pick },
        };
      case "artifact":
        return {
          kind: "artifactReported",
          attemptId: id,
          name: move.pick % 4 === 0 ? "other" : "model",
          path: `${move.pick % 3}`,
        };
      case "checkpoint":
        return { kind: "checkpointReported", attemptId: id, step: move.pick, path: `${move.pick}` };
      case "exit":
        return { kind: "attemptExited", attemptId: id, exits: move.codes.map(exitOf) };
    }
  }

  #command(body: object): Command {
    this.#commandCount++;
    const common = { commandId: commandId(`c${this.#commandCount}`), actor: userOf(body), idempotencyKey: null };
    return { ...common, ...body } as Command;
  }
}

/** Work of one name is always submitted by the same user. */
/** A forecast series from the tariff's beginning on, with rising and falling prices. */
function forecastOf(
  name: string,
  { startMs, endMs }: { startMs: number; endMs: number },
  microUsdPerKwh: number,
): Tariff {
  const stepMs = Math.ceil((endMs - startMs) / 3);
  const figures = [microUsdPerKwh, 80, 300 - microUsdPerKwh];
  return {
    kind: "tariff",
    name,
    when: { kind: "series", startMs, stepMs, microUsdPerKwh: figures, gramsPerKwh: figures.toReversed() },
  };
}

function userOf(body: object): string {
  const { spec } = body as { readonly spec?: { readonly name: string } };
  return { c: "bob", d: "carl" }[spec?.name ?? ""] ?? "ann";
}

const exitOf = (code: number, worker: number): WorkerExit =>
  code < 0 ? { kind: "signalled", worker, signal: "SIGKILL" } : { kind: "exited", worker, code };

function nodeOf(gene: NodeGene, index: number): NodeSpec {
  const { type, spine, leaf, zone, workersMax, ...amounts } = gene;
  const optional = workersMax === null ? {} : { workersMax };
  return {
    id: nodeId(`n${index}`),
    pool: pool(type).name,
    fabric: [spine, `${spine}${leaf}`],
    labels: { zone },
    ...amounts,
    ...optional,
  };
}

/** Reports of a correct executor for attempts that were stopped or shrunk. */
export function obedience({ state }: Engine): readonly Input[] {
  return [...state.attempts.values()].flatMap((attempt): readonly Input[] => {
    const exit: WorkerExit = { kind: "signalled", worker: 0, signal: "SIGTERM" };
    if (attempt.stop?.checkpointUntilMs !== undefined)
      return [{ kind: "checkpointReported", attemptId: attempt.id, step: state.sequence, path: "asked for" }];
    if (attempt.stop !== null) return [{ kind: "attemptExited", attemptId: attempt.id, exits: [exit] }];
    if (attempt.joining !== undefined) return [{ kind: "workersJoined", attemptId: attempt.id }];
    return attempt.terminating === undefined ? [] : [{ kind: "workersLeft", attemptId: attempt.id }];
  });
}

/** A node id, sometimes of a node that does not exist. */
function nodeAt({ state }: Engine, pick: number): NodeSpec["id"] {
  return nodeId(`n${pick % (state.nodes.size + 1)}`);
}

function removalOf(engine: Engine, { pick, requeue }: Move & { readonly kind: "drain" }): object | null {
  if (pick % 3 !== 0) return null;
  const running = requeue ? "requeue" : "refuse";
  if (pick % 48 === 0) return { kind: "removeSite", site: site.name, running };
  if (pick % 12 === 0) return { kind: "removePool", pool: pool(types[(pick / 12) % types.length] ?? "").name, running };
  return { kind: "removeNode", nodeId: nodeAt(engine, pick), running };
}

/** A known node, unchanged or changed, or a new node. */
function seenAgain({ state }: Engine, { pick, node }: Move & { readonly kind: "seen" }): NodeSpec {
  const index = pick % (state.nodes.size + 1);
  const known = state.nodes.get(nodeId(`n${index}`));
  if (known === undefined) {
    const gene = { spine: "s1", leaf: "l1", zone: "a", workersMax: null };
    const plain: NodeGene = { type: "H100", acceleratorCount: 8, coresMilli: 4000, memoryMib: 1000, ...gene };
    const fresh = nodeOf(node ?? plain, index);
    return pick % 7 === 0 ? { ...fresh, pool: poolName("undeclared") } : fresh;
  }
  if (node !== null && node.type === known.acceleratorType) return nodeOf(node, index);
  const { id, pool: of, fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax } = known;
  const optional = { ...(labels === undefined ? {} : { labels }), ...(workersMax === undefined ? {} : { workersMax }) };
  return { id, pool: of, fabric, acceleratorCount, coresMilli, memoryMib, ...optional };
}

const used = (id: AttemptId, pick: number): Input => ({
  kind: "utilizationReported",
  attemptId: id,
  accelerators: 1 + (pick % 8),
  busyAccelerators: pick % 2,
  busyMilli: pick % 1001,
  peakMemoryMib: pick % 5 === 0 ? null : pick,
  capacityMib: 81_920,
});

/** A store of the generated inputs, sometimes removed, and a transfer of a launching attempt. */
function storesOf({ state }: Engine, { pick, inputs }: Move & { readonly kind: "cache" }): Input[] {
  const root = inputs[0]?.uri.replace(/[^/]*$/, "") ?? "s3://none/";
  const kibPerS = 1 + (pick % 9) * 100;
  const stores = pick % 11 === 0 ? [] : [{ name: "lake", root, site: null, kibPerS, egressMicroUsdPerGib: pick % 2 }];
  const attempt = [...state.attempts.values()].find(({ startedAtMs }) => startedAtMs === null);
  const seen: Input = { kind: "storesSeen", stores };
  if (attempt === undefined) return [seen];
  const { id, workloadId } = attempt;
  const moved = { store: "lake", uri: `${root}x`, bytes: 2 ** (10 + (pick % 24)), tookMs: pick % 90_000 };
  return [seen, { kind: "bytesTransferred", direction: "in", workloadId, attemptId: id, ...moved }];
}
