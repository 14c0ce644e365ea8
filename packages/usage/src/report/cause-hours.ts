/**
 * Allocated accelerator time by cause. The causes of a group add up to its allocated time exactly: sums are big integers, and what
 * nothing measured is a cause of its own.
 *
 * | cause | time |
 * |---|---|
 * | `compute`, `communication`, `io` | used, in the proportion of the parts of a step that the attempt reported |
 * | `unmeasured` | used, without a measurement that divides it |
 * | `idle` | reported idle: all accelerators of the attempt, or a measured part of them |
 * | `failure` | lost through the work itself, or through the fleet, since the newest checkpoint |
 * | `restart` | lost through an eviction since the newest checkpoint, and the starts of later attempts |
 * | `waiting` | held while the first attempt starts, or during a back-off |
 */
import { clipRow, type UsageRow } from "../rows/row.ts";

export const HOUR_CAUSES = [
  "compute",
  "communication",
  "io",
  "unmeasured",
  "idle",
  "failure",
  "restart",
  "waiting",
] as const;
export type HourCause = (typeof HOUR_CAUSES)[number];

/** Shares of the used time of an attempt, each from 0 to 1. Shares with a sum above 1 are scaled to 1. */
export type UsedShares = Partial<Readonly<Record<"compute" | "communication" | "io" | "idle", number>>>;

export type CauseGroup = "team" | "pool" | "acceleratorType" | "workload" | "workloadKind";

/** Thousandths of accelerator-milliseconds. */
export type CauseSums = Record<HourCause, bigint>;

export interface CauseLine {
  /** The value of the group; `""` without a group. */
  readonly group: string;
  readonly causes: CauseSums;
  readonly allocated: bigint;
}

export interface CauseHours {
  /** Most allocated time first. */
  readonly items: readonly CauseLine[];
  readonly total: CauseLine;
  /** Time of accelerators that no work of Headroom held, by reason: `free`, `hotSpare`, `drained`, `nodeLost`, `foreignWork`. */
  readonly unallocated: ReadonlyMap<string, bigint>;
}

/** Used time is kept by attempt until its shares are known. */
interface Gathered {
  readonly causes: CauseSums;
  readonly used: Map<string, bigint>;
}

/** Shares are integers of this many parts, so that a division is exact but for its remainder. */
const SHARE_PARTS = 1_000_000;

export class CauseTotals {
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #group: CauseGroup | null;
  readonly #groups = new Map<string, Gathered>();
  readonly #unallocated = new Map<string, bigint>();

  constructor(range: { readonly fromMs: number; readonly toMs: number }, group: CauseGroup | null) {
    this.#fromMs = range.fromMs;
    this.#toMs = range.toMs;
    this.#group = group;
  }

  /** Rows outside the range are left out, and rows across its ends are cut. */
  add(whole: UsageRow): void {
    const row = clipRow(whole, this.#fromMs, this.#toMs);
    if (row === null) return;
    const amount = BigInt(row.milli) * BigInt(row.toMs - row.fromMs);
    if (row.attemptId === "") {
      this.#unallocated.set(row.cause, (this.#unallocated.get(row.cause) ?? 0n) + amount);
      return;
    }
    const { causes, used } = this.#gatheredOf(this.#group === null ? "" : row[this.#group]);
    const cause = causeOf(row);
    if (cause === "used") used.set(row.attemptId, (used.get(row.attemptId) ?? 0n) + amount);
    else causes[cause] += amount;
  }

  /** Attempts with used time, the most first. */
  attempts(): readonly string[] {
    const all = new Map<string, bigint>();
    for (const { used } of this.#groups.values())
      for (const [attemptId, amount] of used) all.set(attemptId, (all.get(attemptId) ?? 0n) + amount);
    return [...all]
      .toSorted(([left, one], [right, other]) => (one === other ? (left < right ? -1 : 1) : one > other ? -1 : 1))
      .map(([attemptId]) => attemptId);
  }

  /** `sharesOf`: measured shares of an attempt; `null`: nothing is measured. */
  hours(sharesOf: (attemptId: string) => UsedShares | null): CauseHours {
    const items = [...this.#groups].map(([group, { causes, used }]) => {
      const sums = { ...causes };
      for (const [attemptId, amount] of used) divide(amount, sharesOf(attemptId), sums);
      return lineOf(group, sums);
    });
    return {
      items: items.toSorted((left, right) =>
        left.allocated === right.allocated
          ? left.group < right.group
            ? -1
            : 1
          : left.allocated > right.allocated
            ? -1
            : 1,
      ),
      total: sumOfLines("", items),
      unallocated: new Map(
        [...this.#unallocated]
          .filter(([, amount]) => amount !== 0n)
          .toSorted(([left], [right]) => (left < right ? -1 : 1)),
      ),
    };
  }

  #gatheredOf(group: string): Gathered {
    let known = this.#groups.get(group);
    if (known === undefined) this.#groups.set(group, (known = { causes: emptySums(), used: new Map() }));
    return known;
  }
}

function causeOf({ state, cause, attemptId }: UsageRow): Exclude<HourCause, "compute"> | "used" {
  switch (state) {
    case "used":
      return "used";
    case "failed":
    case "lost":
      return "failure";
    case "evicted":
      return "restart";
    case "idle":
      if (cause === "reportedIdle") return "idle";
      return cause === "starting" && !isFirst(attemptId) ? "restart" : "waiting";
    default:
      return state satisfies never;
  }
}

/** Ids of attempts end with the number of the attempt. */
const isFirst = (attemptId: string): boolean => attemptId.slice(attemptId.lastIndexOf(".") + 1) === "1";

/** Adds the parts of an amount to the sums. Their sum is the amount: the remainder of the divisions goes to the last part. */
function divide(amount: bigint, shares: UsedShares | null, sums: CauseSums): void {
  const known = (["compute", "communication", "io", "idle"] as const).flatMap((cause) => {
    const share = shares?.[cause] ?? 0;
    return Number.isFinite(share) && share > 0 ? [[cause, Math.min(1, share)] as const] : [];
  });
  const whole = known.reduce((sum, [, share]) => sum + share, 0);
  const scale = SHARE_PARTS / Math.max(1, whole);
  let left = amount;
  for (const [index, [cause, share]] of known.entries()) {
    const isRest = whole >= 1 - 1 / SHARE_PARTS && index === known.length - 1;
    const part = isRest ? left : (amount * BigInt(Math.floor(share * scale))) / BigInt(SHARE_PARTS);
    sums[cause] += part;
    left -= part;
  }
  sums.unmeasured += left;
}

export function sumOfLines(group: string, lines: readonly CauseLine[]): CauseLine {
  const sums = emptySums();
  for (const { causes } of lines) for (const cause of HOUR_CAUSES) sums[cause] += causes[cause];
  return lineOf(group, sums);
}

const emptySums = (): CauseSums => ({
  compute: 0n,
  communication: 0n,
  io: 0n,
  unmeasured: 0n,
  idle: 0n,
  failure: 0n,
  restart: 0n,
  waiting: 0n,
});

const lineOf = (group: string, causes: CauseSums): CauseLine => ({
  group,
  causes,
  allocated: HOUR_CAUSES.reduce((sum, cause) => sum + causes[cause], 0n),
});
