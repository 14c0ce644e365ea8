/**
 * Drills: a loss is simulated from the live state on, and made on nodes that an operator allows for it. A real drill is a maintenance
 * window that begins now, so the journal has its actor, the engine ends it also without this service, and it survives restarts.
 * The service compares the events that follow with the simulation.
 */
import { nodeId } from "@headroom/model";
import type { Event, NodeId, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { DRILLS_MAX, ProblemError, refuse } from "@headroom/protocol";
import type { Drill, DrillForecast, DrillRequest } from "@headroom/protocol";
import { Interruptions, runningAttempts } from "@headroom/sim";
import { drillTotals, nodesOfDomains, nodesWithoutDrills, rejectionProblem, workloadsOn } from "@headroom/views";
import type { HitWorkload } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { CommandRequest, Driver } from "../driver/driver.ts";
import type { ForecastService } from "../forecast/forecast-service.ts";
import { readDrills, writeDrills } from "./drill-file.ts";
import type { StoredDrill } from "./drill-file.ts";

/** Nodes without permission that a refusal names. */
const NAMED_MAX = 5;
/** Work that does not start again within this time in ms after the return is no longer watched. */
const WATCHED_AFTER_MS = 3_600_000;

interface DrillServiceOptions {
  readonly home: string;
  readonly driver: Pick<Driver, "read" | "command" | "events">;
  readonly forecast: Pick<ForecastService, "ask">;
  readonly log: Pick<DriverLog, "warn">;
  readonly nowMs: () => number;
}

interface DrillCaller {
  readonly actor: string;
  readonly idempotencyKey: string | null;
}

export class DrillService {
  readonly #options: DrillServiceOptions;
  readonly #closing = new AbortController();
  /** The oldest first. */
  #drills: readonly StoredDrill[];
  readonly #following = new Map<string, Promise<void>>();
  /** Whether a request is between its check and the recorded window. */
  #isStarting = false;

  constructor(options: DrillServiceOptions) {
    this.#options = options;
    this.#drills = readDrills(options.home, options.log);
  }

  /** Continues the observation of drills that an earlier process began. */
  start(): void {
    for (const { drill } of this.#drills) if (!drill.observed.isSettled) this.#follow(drill.id);
  }

  /** The newest first. */
  list(): readonly Drill[] {
    return this.#drills.map(({ drill }) => drill).toReversed();
  }

  find(id: string): Drill {
    return this.#stored(id).drill;
  }

  async forecast({ lose, forMs }: DrillRequest, actor: string, gone: AbortSignal): Promise<DrillForecast> {
    const nodes = await this.#options.driver.read(({ state }) => nodesOfDomains(state, lose));
    return this.#options.forecast.ask({ kind: "drill", nodes, forMs }, actor, gone);
  }

  /** Simulates the loss, and then takes its nodes from work. Another drill at the same time is refused. */
  async begin(request: DrillRequest, caller: DrillCaller, gone: AbortSignal): Promise<Drill> {
    const { idempotencyKey: key, actor } = caller;
    const before =
      key === null ? undefined : this.#drills.find((each) => each.idempotencyKey === key && each.drill.actor === actor);
    if (before !== undefined) return before.drill;
    const other = this.#drills.find(({ drill }) => drill.phase === "running");
    if (other !== undefined || this.#isStarting)
      throw refuse(
        "drillRunning",
        `Drill ${other?.drill.id ?? "of another user"} is running. End it with headroom drill cancel, or wait.`,
      );
    this.#isStarting = true;
    try {
      return await this.#begin(request, caller, gone);
    } finally {
      this.#isStarting = false;
    }
  }

  async #begin(request: DrillRequest, caller: DrillCaller, gone: AbortSignal): Promise<Drill> {
    const { driver, nowMs } = this.#options;
    await driver.read(({ state }) => allowedNodes(state, request));
    const expected = await this.forecast(request, caller.actor, gone);
    const stored = await driver.read(({ state }) =>
      newDrill(state, { request, expected, caller, nowMs: nowMs(), id: this.#nextId(state) }),
    );
    const { drill } = stored;
    // The record comes first: a process that dies between both leaves a drill without a window, which the next start ends.
    this.#keep([...this.#drills, stored].slice(-DRILLS_MAX));
    try {
      await this.#command({ ...caller, ...windowOf(drill) });
    } catch (error) {
      this.#keep(this.#drills.filter((each) => each.drill.id !== drill.id));
      throw error;
    }
    this.#follow(drill.id);
    return drill;
  }

  /** Ends a drill: its window is removed, and the nodes take work again. */
  async cancel(id: string, caller: DrillCaller): Promise<Drill> {
    const { drill } = this.#stored(id);
    if (drill.phase !== "running") throw refuse("drillOver", `Drill ${id} is over.`);
    await this.#command({ ...caller, kind: "removeCalendarEntry", name: drill.window });
    this.#change(id, { phase: "cancelled", endedAtMs: this.#options.nowMs(), endedBy: caller.actor });
    return this.find(id);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#following.values());
  }

  #stored(id: string): StoredDrill {
    const found = this.#drills.find(({ drill }) => drill.id === id);
    if (found === undefined) throw refuse("unknownDrill", `There is no drill ${id}. headroom drill list shows them.`);
    return found;
  }

  #nextId({ calendar }: ReadonlyState): string {
    let number = Math.max(0, ...this.#drills.map(({ drill }) => Number(drill.id.slice(1)))) + 1;
    while (calendar.has(windowName(`d${number}`))) number++;
    return `d${number}`;
  }

  async #command(request: CommandRequest): Promise<void> {
    const reply = await this.#options.driver.command(request);
    if (reply.kind === "rejected") throw new ProblemError(rejectionProblem(reply.rejection));
  }

  #keep(drills: readonly StoredDrill[]): void {
    writeDrills(this.#options.home, drills);
    this.#drills = drills;
  }

  #change(id: string, changes: Partial<Drill>): void {
    this.#keep(this.#changed(id, changes));
  }

  #changed(id: string, changes: Partial<Drill>): readonly StoredDrill[] {
    return this.#drills.map((each) =>
      each.drill.id === id ? { ...each, drill: { ...each.drill, ...changes } } : each,
    );
  }

  #follow(id: string): void {
    const following = this.#observe(this.#stored(id))
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted)
          this.#options.log.warn(
            `Drill ${id} is no longer observed: ${error instanceof Error ? error.message : String(error)}`,
          );
      })
      .finally(() => this.#following.delete(id));
    this.#following.set(id, following);
  }

  /**
   * Folds the events after the drill's beginning. A restart folds them again, so the file is written only when the drill has
   * ended or is settled.
   */
  async #observe({ drill, sequence, running, hit }: StoredDrill): Promise<void> {
    const { id, window } = drill;
    const observation = new Observation(drill, running, new Map(hit));
    const { head, isWithoutWindow } = await this.#options.driver.read(({ state }) => ({
      head: state.sequence,
      isWithoutWindow: !state.calendar.has(window),
    }));
    const isLost = (at: number): boolean =>
      isWithoutWindow && at >= head && observation.endedAtMs === null && this.find(id).phase === "running";
    if (isLost(sequence)) return this.#loseWindow(id);
    for await (const { event, sequence: at } of this.#options.driver.events(sequence + 1, this.#closing.signal)) {
      const isChanged = observation.take(event);
      if (isChanged) this.#observed(id, observation);
      if (isLost(at)) return this.#loseWindow(id);
      if (isChanged && observation.isSettled) return;
    }
  }

  #observed(id: string, observation: Observation): void {
    const { endedAtMs, endedBy, isSettled } = observation;
    // The request that cancels a drill names its user; the window that ends by itself has none.
    const isEnded = this.find(id).phase === "running" && endedAtMs !== null;
    const ended = { phase: endedBy === null ? "returned" : "cancelled", endedAtMs, endedBy } as const;
    const drills = this.#changed(id, { observed: observation.result(), ...(isEnded ? ended : {}) });
    if (isEnded || isSettled) this.#keep(drills);
    else this.#drills = drills;
  }

  /** The journal has no window of the drill, and no end of one: the process died before it was recorded. No node was taken. */
  #loseWindow(id: string): void {
    const { observed } = this.find(id);
    this.#options.log.warn(`Drill ${id} has no window in the calendar, and is over.`);
    const endedAtMs = this.#options.nowMs();
    this.#change(id, { phase: "returned", endedAtMs, observed: { ...observed, isSettled: true } });
  }
}

/** Folds the events after the beginning of a drill. */
class Observation {
  readonly #drill: Drill;
  readonly #hit: ReadonlyMap<WorkloadId, HitWorkload>;
  readonly #interruptions: Interruptions;
  readonly #over = new Set<WorkloadId>();
  endedAtMs: number | null = null;
  endedBy: string | null = null;
  #lastAtMs = 0;

  constructor(drill: Drill, running: StoredDrill["running"], hit: ReadonlyMap<WorkloadId, HitWorkload>) {
    this.#drill = drill;
    this.#hit = hit;
    this.#interruptions = new Interruptions(running, drill.startedAtMs);
  }

  /** Whether the event changes the result. */
  take(event: Event): boolean {
    this.#lastAtMs = event.atMs;
    switch (event.kind) {
      case "attemptStopRequested":
      case "attemptEnded": {
        const isWatched = this.#interruptions.isRunning(event.attemptId);
        this.#interruptions.take(event);
        return isWatched && event.kind === "attemptEnded";
      }
      case "gangPlaced": {
        const { workloadId, task, atMs, workers } = event;
        this.#interruptions.launched(
          workloadId,
          task,
          atMs,
          workers.map(({ node }) => node),
        );
        return this.#hit.has(workloadId);
      }
      case "workloadEnded":
        this.#over.add(event.workloadId);
        return this.#hit.has(event.workloadId);
      case "windowEnded":
      case "calendarRemoved":
        if (event.name !== this.#drill.window || this.endedAtMs !== null) return false;
        this.endedAtMs = event.atMs;
        this.endedBy = event.kind === "calendarRemoved" ? event.actor : null;
        return true;
      default:
        return this.endedAtMs !== null && event.atMs > this.endedAtMs + WATCHED_AFTER_MS;
    }
  }

  get isSettled(): boolean {
    if (this.endedAtMs === null) return false;
    if (this.#lastAtMs > this.endedAtMs + WATCHED_AFTER_MS) return true;
    if (this.#interruptions.isStopping) return false;
    return [...this.#interruptions.byWorkload].every(([id, { againAtMs }]) => againAtMs !== null || this.#over.has(id));
  }

  result(): Drill["observed"] {
    return { ...drillTotals(this.#interruptions.byWorkload, this.#hit), isSettled: this.isSettled };
  }
}

const windowName = (id: string): string => `drill-${id}`;

function windowOf({ id, window: name, actor, startedAtMs: startMs, endsAtMs: endMs, nodes, lose }: Drill) {
  const reason = `Drill ${id} of ${actor}: ${lose.join(", ")} is lost`;
  const entry = { kind: "maintenance", name, startMs, endMs, nodes: nodes.map(nodeId), reason } as const;
  return { kind: "apply", sites: [], pools: [], teams: [], workloads: [], calendar: [entry] } as const;
}

/** The nodes of the domains. Throws `drillNotAllowed` if one of them is not allowed for drills. */
function allowedNodes(state: ReadonlyState, { lose }: DrillRequest): readonly NodeId[] {
  const nodes = nodesOfDomains(state, lose);
  const refused = nodesWithoutDrills(state, nodes);
  if (refused.length === 0) return nodes;
  const more = refused.length > NAMED_MAX ? ` and ${refused.length - NAMED_MAX} more` : "";
  throw refuse(
    "drillNotAllowed",
    `${refused.slice(0, NAMED_MAX).join(", ")}${more}: not allowed for drills. Allow test nodes with the label headroom.drills: allowed in labels or nodeLabels of their pool, and headroom apply. Without --real the drill is only simulated.`,
  );
}

interface Begun {
  readonly request: DrillRequest;
  readonly expected: DrillForecast;
  readonly caller: DrillCaller;
  readonly nowMs: number;
  readonly id: string;
}

function newDrill(state: ReadonlyState, { request, expected, caller, nowMs, id }: Begun): StoredDrill {
  const nodes = allowedNodes(state, request);
  const lost = new Set<string>(nodes);
  const hit = workloadsOn(state, nodes);
  const running = runningAttempts(state, nowMs).filter(([attemptId]) =>
    state.attempts.get(attemptId)?.workers.some(({ node }) => lost.has(node)),
  );
  const drill: Drill = {
    id,
    phase: "running",
    lose: request.lose.map(({ level, name }) => (level === undefined ? name : `${level}=${name}`)),
    nodes: [...nodes],
    actor: caller.actor,
    startedAtMs: nowMs,
    endsAtMs: nowMs + request.forMs,
    endedAtMs: null,
    endedBy: null,
    window: windowName(id),
    expected,
    observed: { ...drillTotals(new Map(), hit), isSettled: false },
  };
  return { drill, idempotencyKey: caller.idempotencyKey, sequence: state.sequence, running, hit: [...hit] };
}
