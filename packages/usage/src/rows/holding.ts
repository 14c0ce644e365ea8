/** The holdings of one attempt: pieces of time with a constant amount on a node, until the outcome decides their state. */
import { acceleratorIndices } from "@headroom/model";
import type { AttemptOutcome, StopReason, WorkerExit } from "@headroom/model";
import type { UsageRow, UsageState } from "./row.ts";

/** `waiting`: the place is held during a back-off. `starting`: placed, and the workers do not run yet. */
type PiecePhase = "waiting" | "starting" | "running";

export interface Piece {
  fromMs: number;
  toMs: number;
  readonly phase: PiecePhase;
  readonly node: string;
  readonly milli: number;
  readonly accelerators?: string;
  /** True: a row of a closed month states it as used. */
  isBilled: boolean;
}

/** A worker of the attempt: its node, the thousandths of accelerators that it holds there, and which they are. */
export type HeldWorker = readonly [node: string, milli: number, accelerators?: string];

export interface Holding {
  readonly attemptId: string;
  readonly workloadId: string;
  workers: HeldWorker[];
  /** Workers that are being stopped while the gang continues. */
  terminating: HeldWorker[];
  /** Ranks without a worker, ascending. */
  missing: number[];
  phase: PiecePhase;
  sinceMs: number;
  pieces: Piece[];
  /** The newest checkpoint: work before it is not lost. */
  checkpointMs: number | null;
  stopReason: StopReason | null;
  idle: [fromMs: number, toMs: number][];
  idleSinceMs: number | null;
}

/** The state of a piece of time, and its cause. */
export interface Verdict {
  readonly state: UsageState;
  readonly cause: string;
}

export interface VerdictPart extends Verdict {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Thousandths of accelerators that the attempt holds on each node. */
export function heldByNode({ workers, terminating }: Holding): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const list of [workers, terminating])
    for (const [node, milli] of list) if (milli > 0) held.set(node, (held.get(node) ?? 0) + milli);
  return held;
}

/** Indices as text: ascending, each once, in maximal ranges. */
function rangesOf(indices: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const index of [...new Set(indices)].toSorted((left, right) => left - right)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** Closes the pieces that run since `sinceMs`. */
export function settle(holding: Holding, atMs: number): void {
  if (atMs > holding.sinceMs) for (const piece of openPieces(holding, atMs)) push(holding.pieces, piece);
  holding.sinceMs = Math.max(holding.sinceMs, atMs);
}

/** The pieces since `sinceMs`, which are not closed yet. */
function openPieces(holding: Holding, atMs: number): readonly Piece[] {
  const { sinceMs: fromMs, phase } = holding;
  if (atMs <= fromMs) return [];
  return [...heldByNode(holding)].map(([node, milli]) => {
    const accelerators = acceleratorsOn(holding, node);
    const known = accelerators === "" ? {} : { accelerators };
    return { fromMs, toMs: atMs, phase, node, milli, ...known, isBilled: false };
  });
}

function acceleratorsOn({ workers, terminating }: Holding, node: string): string {
  const own = [...workers, ...terminating].filter(([of, milli]) => of === node && milli > 0);
  const [first, ...others] = own.map(([, , accelerators = ""]) => accelerators);
  if (first === undefined || others.every((each) => each === first)) return first ?? "";
  return rangesOf([first, ...others].flatMap(acceleratorIndices));
}

/** Extends the last piece of the node if nothing about it changed. */
function push(pieces: Piece[], piece: Piece): void {
  const last = pieces.findLast(({ node }) => node === piece.node);
  const isSame =
    last?.phase === piece.phase &&
    last.milli === piece.milli &&
    last.accelerators === piece.accelerators &&
    !last.isBilled;
  if (last !== undefined && isSame && last.toMs === piece.fromMs) last.toMs = piece.toMs;
  else pieces.push(piece);
}

/** Intervals without a busy accelerator, up to `atMs`. */
export const idleUntil = ({ idle, idleSinceMs }: Holding, atMs: number): readonly (readonly [number, number])[] =>
  idleSinceMs === null || idleSinceMs >= atMs ? idle : [...idle, [idleSinceMs, atMs]];

/**
 * Splits a piece by what became of it. Work up to the newest checkpoint was kept whatever came later; work after it has
 * the verdict of the attempt's end.
 */
export function verdictsOf(
  piece: Piece,
  holding: Pick<Holding, "checkpointMs">,
  idle: readonly (readonly [number, number])[],
  end: Verdict,
): readonly VerdictPart[] {
  const { fromMs, toMs } = piece;
  if (piece.phase !== "running")
    return [{ fromMs, toMs, state: "idle", cause: piece.phase === "waiting" ? "backoff" : "starting" }];
  const parts: VerdictPart[] = [];
  let atMs = fromMs;
  for (const [idleFromMs, idleToMs] of idle) {
    const from = Math.max(atMs, idleFromMs);
    const to = Math.min(toMs, idleToMs);
    if (from >= to) continue;
    pushKept(parts, { fromMs: atMs, toMs: from }, holding.checkpointMs, end);
    parts.push({ fromMs: from, toMs: to, state: "idle", cause: "reportedIdle" });
    atMs = to;
  }
  pushKept(parts, { fromMs: atMs, toMs }, holding.checkpointMs, end);
  return parts;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

function pushKept(parts: VerdictPart[], { fromMs, toMs }: Span, checkpointMs: number | null, end: Verdict): void {
  const keptToMs = end.state === "used" ? fromMs : Math.min(toMs, Math.max(fromMs, checkpointMs ?? fromMs));
  if (keptToMs > fromMs) parts.push({ fromMs, toMs: keptToMs, state: "used", cause: "checkpointed" });
  if (toMs > keptToMs) parts.push({ fromMs: keptToMs, toMs, ...end });
}

export const RUNNING: Verdict = { state: "used", cause: "running" };

export interface AttemptEnd {
  readonly outcome: AttemptOutcome;
  readonly exit: WorkerExit | null;
  readonly stopReason: StopReason | null;
  /** Whether a node of the attempt is lost at its end. */
  readonly hasLostNode: boolean;
}

/** The state of the time after the newest checkpoint. */
export function verdictOfEnd({ outcome, exit, stopReason, hasLostNode }: AttemptEnd): Verdict {
  switch (outcome) {
    case "succeeded":
      return { state: "used", cause: "succeeded" };
    case "failed":
      return { state: "failed", cause: exit?.outOfMemoryMib === undefined ? (exit?.kind ?? "failed") : "outOfMemory" };
    case "lost":
      return { state: "lost", cause: hasLostNode || stopReason === "nodeLost" ? "nodeLost" : "executor" };
    case "stopped":
      return verdictOfStop(stopReason);
    default:
      return outcome satisfies never;
  }
}

function verdictOfStop(reason: StopReason | null): Verdict {
  if (reason === null || reason === "cancelled") return { state: "used", cause: "cancelled" };
  if (reason === "walltimeExceeded") return { state: "failed", cause: reason };
  return { state: reason === "nodeLost" ? "lost" : "evicted", cause: reason };
}

/** The fields of a row that name the holder. */
export type Holder = Pick<UsageRow, "team" | "user" | "workloadId" | "workload" | "workloadKind" | "attemptId">;

export const NOBODY: Holder = { team: "", user: "", workloadId: "", workload: "", workloadKind: "", attemptId: "" };
