/**
 * Index of the nodes that the calendar closes: the work that they are closed to, and the time from which they are. It
 * is rebuilt when an entry or the fleet changes. Every placement reads it.
 */
import type { AdvanceReservation, TimeWindow, NodeId, TeamName } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

export interface IndexedWindow {
  readonly window: TimeWindow;
  readonly nodes: ReadonlySet<NodeId>;
}

/**
 * A window with those of its nodes that exist; a node that joins later belongs to it again. `chosen`: the chosen nodes,
 * for a reservation of a number of accelerators.
 */
export function indexedWindow(
  { nodes }: Pick<ReadonlyState, "nodes">,
  window: TimeWindow,
  chosen: readonly NodeId[] | undefined,
): IndexedWindow {
  const named = new Set((chosen ?? window.nodes ?? []).filter((id) => nodes.has(id)));
  if (window.kind === "maintenance" && window.pool !== undefined)
    for (const { id, pool } of nodes.values()) if (pool === window.pool) named.add(id);
  return { window, nodes: named };
}

export interface Asking {
  readonly team: TeamName;
  readonly actor: string;
}

export class CalendarIndex {
  readonly #state: Pick<ReadonlyState, "calendar" | "nodes" | "teams">;
  #windows: readonly IndexedWindow[] = [];
  /** Whether any window exists: asked for each request. */
  hasWindows = false;
  #users: ReadonlySet<string> = new Set();
  #firstStartMs = Number.POSITIVE_INFINITY;
  #isLeftAside = false;
  #without: IndexedWindow | null = null;
  /**
   * The instant for which a placement is tried: that of the round, or a later one during the search for a protected
   * start.
   */
  nowMs: number;

  constructor(state: ReadonlyState) {
    this.#state = state;
    this.nowMs = state.nowMs;
    this.rebuild();
  }

  rebuild(): void {
    const { calendar, nodes } = this.#state;
    if (calendar.size === 0 && this.#windows.length === 0) return;
    this.#windows = [...calendar.values()].flatMap(({ entry, nodes: chosen }) =>
      entry.kind === "tariff" ? [] : indexedWindow({ nodes }, entry, chosen),
    );
    this.hasWindows = this.#windows.length > 0;
    this.#firstStartMs = Math.min(Number.POSITIVE_INFINITY, ...this.#windows.map(({ window }) => window.startMs));
    this.#users = new Set(
      this.#windows.flatMap(({ window }) => (window.kind === "reservation" ? (window.users ?? []) : [])),
    );
  }

  get windows(): readonly IndexedWindow[] {
    return this.#windows;
  }

  /** Whether any calendar entry is reserved for this user by name, so that it matters who submits the work. */
  isNamed(actor: string): boolean {
    return this.#users.has(actor);
  }

  /** The windows whose nodes are closed to work that would run from now until `untilMs`; usually none. */
  closedTo(asking: Asking, untilMs: number): readonly IndexedWindow[] {
    if (this.#firstStartMs >= untilMs || this.#isLeftAside) return NONE;
    const { nowMs } = this;
    const without = this.#without?.window;
    return this.#windows.filter(
      ({ window }) =>
        window !== without && window.startMs < untilMs && window.endMs > nowMs && !this.isFor(window, asking),
    );
  }

  /** Whether the window is reserved for this work. */
  isFor(window: TimeWindow, { team, actor }: Asking): boolean {
    if (window.kind === "maintenance") return false;
    return window.users?.includes(actor) === true || this.#isBelow(team, window);
  }

  #isBelow(team: TeamName, { team: owner }: AdvanceReservation): boolean {
    const { teams } = this.#state;
    for (let at: TeamName | null = team; at !== null; at = teams.get(at)?.parent ?? null) if (at === owner) return true;
    return false;
  }

  /** Runs `ask` as if the calendar were empty. */
  leftAside<T>(ask: () => T): T {
    this.#isLeftAside = true;
    return restoring(ask, () => (this.#isLeftAside = false));
  }

  /** Runs `ask` as if this window did not exist. */
  without<T>(window: IndexedWindow, ask: () => T): T {
    this.#without = window;
    return restoring(ask, () => (this.#without = null));
  }

  /** Runs `ask` as if it were another instant. */
  at<T>(instantMs: number, ask: () => T): T {
    const { nowMs } = this;
    this.nowMs = instantMs;
    return restoring(ask, () => (this.nowMs = nowMs));
  }
}

function restoring<T>(ask: () => T, restore: () => void): T {
  try {
    return ask();
  } finally {
    restore();
  }
}

const NONE: readonly IndexedWindow[] = [];
