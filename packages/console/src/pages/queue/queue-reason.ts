/**
 * The main reason of a waiting workload: its kind in two words, and for amounts the needed and the available number.
 */
import type { BlockedReason, QueueEntry } from "@headroom/protocol";
import { amountText, grouped, resourceForm, spentText } from "@headroom/views";

export interface ReasonBrief {
  readonly word: string;
  /** Amounts such as `64 of 17`: needed, of available. Empty if the reason is not about an amount. */
  readonly amounts: string;
}

const boundWords: Readonly<Record<(BlockedReason & { readonly kind: "teamLimit" })["bound"], string>> = {
  limit: "Team limit",
  user: "User limit",
  guarantee: "Guarantee",
  unguaranteed: "Others' guarantees",
  borrowing: "Not lent",
  budget: "Budget",
};

type Binding = (BlockedReason & { readonly kind: "workerShortfall" })["binding"];

const bindingWords: Readonly<Partial<Record<Binding, string>>> = {
  accelerators: "Scattered",
  cores: "Too few cores",
  room: "Not enough room",
  spread: "Spread",
  fabric: "Fabric",
  executor: "Executors",
};

/** Amount of the resource that the fleet lacks: needed, and available. */
function exceedingAmounts(reason: BlockedReason & { readonly kind: "exceedsFleet" }): string {
  const { lack } = reason;
  const workers = `${grouped(reason.workers)} / ${grouped(reason.placeableWorkers)}`;
  if (lack === undefined) return `${grouped(reason.neededCount)} / ${grouped(reason.fleetCount)}`;
  switch (lack.of) {
    case "type":
      return reason.acceleratorTypes.join(", ");
    case "part":
      return lack.profile;
    case "spread":
    case "fabric":
    case "executor":
      return workers;
    case "accelerators":
    case "nodeSelector":
      return `${grouped(reason.neededCount)} / ${grouped(reason.fleetCount)}`;
    default:
      return lack.perWorker > lack.perNodeMax
        ? `${amountText(lack.of, lack.perWorker)} / ${amountText(lack.of, lack.perNodeMax)}`
        : workers;
  }
}

export function reasonBrief(reason: BlockedReason | null): ReasonBrief {
  if (reason === null) return { word: "Starting", amounts: "" };
  switch (reason.kind) {
    case "exceedsFleet":
      return { word: "Exceeds fleet", amounts: exceedingAmounts(reason) };
    case "acceleratorShortfall":
      return { word: "Too few free", amounts: `${grouped(reason.neededCount)} / ${grouped(reason.freeCount)}` };
    case "workerShortfall":
      return {
        word: bindingWords[reason.binding] ?? `Too little ${resourceForm(reason.binding)?.noun ?? "room"}`,
        amounts: `${grouped(reason.workers)} / ${grouped(reason.placeableWorkers)}`,
      };
    case "partShortfall":
      return { word: "No part free", amounts: `${grouped(reason.workers)} / ${grouped(reason.placeableWorkers)}` };
    case "minRuntime":
      return { word: "Promised time", amounts: reason.workloadId };
    case "antiAffinity":
      return { word: "Too near", amounts: reason.workloadIds[0] ?? "" };
    case "dataRule":
      return { word: "Data rule", amounts: reason.rule };
    case "teamLimit":
      return {
        word: boundWords[reason.bound],
        amounts: `${grouped(reason.neededCount)} / ${grouped(Math.max(0, reason.limitCount - reason.usedCount))}`,
      };
    case "reservedTopology":
      return {
        word: "Team shapes",
        amounts: `${grouped(reason.neededCount)} / ${grouped(Math.max(0, reason.ownedCount - reason.heldCount))}`,
      };
    case "behindHead":
      return { word: "Behind head", amounts: `${grouped(reason.aheadCount)} ahead` };
    case "held":
      return { word: "Held", amounts: "" };
    case "waitsFor":
      return { word: "Waits for", amounts: reason.workloadId };
    case "notBefore":
      return { word: "Not yet", amounts: "" };
    case "startWindow":
      return { word: "Off-peak", amounts: "" };
    case "reservation":
      return { word: "Reserved", amounts: "" };
    case "budget":
      return { word: "Budget", amounts: spentText(reason.resource, reason.limit) };
    case "window":
      return { word: reason.window === "maintenance" ? "Maintenance" : "Kept free", amounts: reason.name };
    case "hotSparesKept":
      return { word: "Spares", amounts: reason.nodes === 1 ? "1 node" : `${reason.nodes} nodes` };
    case "nominated":
      return { word: "Promised", amounts: "" };
    case "taskLimit":
      return { word: "Task limit", amounts: "" };
    case "backoff":
      return { word: "Retry", amounts: "" };
  }
}

export interface QueueFilter {
  readonly team: string | undefined;
  readonly search: string | undefined;
}

/** Filters of the queue. A team includes its subteams; text matches name, team, actor or reason. */
export function matchesQueueFilter({ workload, reason }: QueueEntry, { team, search }: QueueFilter): boolean {
  if (team !== undefined && workload.team !== team && !workload.team.startsWith(`${team}/`)) return false;
  if (search === undefined) return true;
  const text =
    `${workload.name} ${workload.id} ${workload.team} ${workload.actor} ${reason?.sentence ?? ""}`.toLowerCase();
  return text.includes(search.toLowerCase());
}
