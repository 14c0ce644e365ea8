/**
 * Nodes of Slurm with `State=CLOUD` (slurm.schedmd.com/power_save.html), and the orders that hold them. The comment of a node names its
 * order: Slurm keeps it over restarts of `slurmctld`, and it is the only memory about an order that has machines.
 */
import { hostNames } from "../reading/host-list.ts";
import type { NodeRow } from "../reading/rows.ts";
import { SlurmReader } from "../reading/slurm-reader.ts";
import { utc } from "../reading/times.ts";

export interface CloudNode {
  readonly name: string;
  /** Words of the state, lower case: `idle`, `cloud`, `powered_down`. */
  readonly state: ReadonlySet<string>;
  readonly accelerators: number;
  /** Why it is down, as Slurm says. */
  readonly reason: string | null;
  /** Id of the order that holds it; `null`: nobody; `undefined`: somebody else has set a comment. */
  readonly order: string | null | undefined;
}

const COMMENT = "headroom:";
export const commentOf = (order: string): string => `${COMMENT}${order}`;

/**
 * Chosen cloud nodes, and those that orders hold, in the output of `scontrol show node --oneliner`. Throws an error if a line cannot be read: a node that is missing there
 * would count as stopped.
 */
export function readCloudNodes(text: string, chosen: CloudSelection): readonly CloudNode[] {
  const rows: NodeRow[] = [];
  let unread: string | null = null;
  const reader = new SlurmReader(
    { job: () => {}, step: () => {}, node: (row) => rows.push(row), unread: ({ reason }) => (unread ??= reason) },
    utc,
  );
  reader.push(Buffer.from(text));
  reader.end();
  if (unread !== null) throw new Error(`a line about a node cannot be read: ${String(unread)}`);
  if (rows.length === 0 || !text.endsWith("\n")) throw new Error("Slurm lists no nodes, or its answer is cut off");
  const comments = commentsIn(text);
  const wanted = chosen.nodes === undefined ? null : new Set(hostNames(chosen.nodes));
  return rows.flatMap(({ name, state, gpus, reason, hardware }) => {
    const words = new Set((state ?? "").split("+"));
    const isChosen = (wanted === null || wanted.has(name)) && (hardware?.partitions ?? []).includes(chosen.partition);
    if (!words.has("cloud")) return [];
    const comment = comments.get(name) ?? "";
    const order = comment === "" ? null : comment.startsWith(COMMENT) ? comment.slice(COMMENT.length) : undefined;
    // A node that an order holds stays in view though other nodes are chosen now: else its order would be gone, and it would run on.
    if (!isChosen && typeof order !== "string") return [];
    return [{ name, state: words, accelerators: gpus ?? 0, reason, order }];
  });
}

export interface CloudSelection {
  readonly partition: string;
  /** Names in Slurm's short form. Absent: all cloud nodes of the partition. */
  readonly nodes?: string | undefined;
}

function commentsIn(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    const name = /^NodeName=(\S+)/.exec(line)?.[1];
    const comment = /\sComment=(\S*)/.exec(line)?.[1];
    if (name !== undefined && comment !== undefined && comment !== "(null)") found.set(name, comment);
  }
  return found;
}

/** Powered down, and not on the way up. */
export const isOff = ({ state }: CloudNode): boolean =>
  state.has("powered_down") && !state.has("powering_up") && !state.has("power_up");

/** On the way down: nothing more is needed. */
export const isGoingOff = ({ state }: CloudNode): boolean =>
  state.has("powering_down") || state.has("power_down") || state.has("power_drain");

/** Slurm gave the node up: it did not start within `ResumeTimeout`, or it is lost. */
export const hasFailed = ({ state }: CloudNode): boolean =>
  state.has("down") || state.has("error") || state.has("fail");

export const isFree = (node: CloudNode): boolean =>
  node.order === null && isOff(node) && !hasFailed(node) && !isGoingOff(node) && !node.state.has("drain");
