/**
 * The main reason of a waiting workload: its kind in two words, and for amounts the needed and the available number.
 */
import type { BlockedReason, QueueEntry } from "@headroom/protocol";
import { amountText, grouped, resourceForm, spentText } from "@headroom/views";

export interface ReasonBrief {
  readonly word: string;
  /** Amounts such as `64 / 17`: needed, and available. Empty if the reason is not about an amount. */
  readonly amounts: string;
  /** The amounts with their names, such as `64 needed, 17 free`, for places without a heading above them. */
  readonly named: string;
}

/** A needed and an available amount, with the names of both. */
type Amounts = Pick<ReasonBrief, "amounts" | "named">;

const pair = (
  needed: number | string,
  has: number | string,
  [neededName, hasName]: readonly [string, string],
): Amounts => {
  const [left, right] = [needed, has].map((amount) => (typeof amount === "number" ? grouped(amount) : amount));
  return { amounts: `${left} / ${right}`, named: `${left} ${neededName}, ${right} ${hasName}` };
};

const only = (amounts: string): Amounts => ({ amounts, named: amounts });

const NEEDED_AND_FREE = ["needed", "free"] as const;
const WORKERS_AND_FIT = ["workers", "fit"] as const;

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
function exceedingAmounts(reason: BlockedReason & { readonly kind: "exceedsFleet" }): Amounts {
  const { lack } = reason;
  const workers = pair(reason.workers, reason.placeableWorkers, WORKERS_AND_FIT);
  const accelerators = pair(reason.neededCount, reason.fleetCount, ["needed", "in the fleet"]);
  if (lack === undefined) return accelerators;
  switch (lack.of) {
    case "type":
      return only(reason.acceleratorTypes.join(", "));
    case "part":
      return only(lack.profile);
    case "spread":
    case "fabric":
    case "executor":
    case "power":
      return workers;
    case "accelerators":
    case "nodeSelector":
      return accelerators;
    default:
      return lack.perWorker > lack.perNodeMax
        ? pair(amountText(lack.of, lack.perWorker), amountText(lack.of, lack.perNodeMax), [
            "needed",
            "on the largest node",
          ])
        : workers;
  }
}

export function reasonBrief(reason: BlockedReason | null): ReasonBrief {
  if (reason === null) return { word: "Starting", ...only("") };
  switch (reason.kind) {
    case "exceedsFleet":
      return { word: "Exceeds fleet", ...exceedingAmounts(reason) };
    case "acceleratorShortfall":
      return { word: "Too few free", ...pair(reason.neededCount, reason.freeCount, NEEDED_AND_FREE) };
    case "workerShortfall":
      return {
        word: bindingWords[reason.binding] ?? `Too little ${resourceForm(reason.binding)?.noun ?? "room"}`,
        ...pair(reason.workers, reason.placeableWorkers, WORKERS_AND_FIT),
      };
    case "partShortfall":
      return { word: "No part free", ...pair(reason.workers, reason.placeableWorkers, WORKERS_AND_FIT) };
    case "minRuntime":
      return { word: "Promised time", ...only(reason.workloadId) };
    case "antiAffinity":
      return { word: "Too near", ...only(reason.workloadIds[0] ?? "") };
    case "dataRule":
      return { word: "Data rule", ...only(reason.rule) };
    case "workloadKind":
      return { word: "Kind of workload", ...only(reason.workloadKind) };
    case "powerCap":
      return { word: reason.of === "power" ? "Power cap" : "Cooling cap", ...only(reason.domain) };
    case "image":
      return { word: "Image", ...only(reason.image) };
    case "secrets":
      return { word: "Secrets", ...only(reason.pools[0] ?? "no pool") };
    case "transfers":
      return { word: reason.direction === "in" ? "Inputs" : "Uploads", ...only(reason.pools[0] ?? "no pool") };
    case "teamLimit":
      return {
        word: boundWords[reason.bound],
        ...pair(reason.neededCount, Math.max(0, reason.limitCount - reason.usedCount), ["needed", "left"]),
      };
    case "reservedTopology":
      return {
        word: "Team shapes",
        ...pair(reason.neededCount, Math.max(0, reason.ownedCount - reason.heldCount), NEEDED_AND_FREE),
      };
    case "behindHead":
      return { word: "Behind head", ...only(`${grouped(reason.aheadCount)} ahead`) };
    case "held":
      return { word: "Held", ...only("") };
    case "waitsFor":
      return { word: "Waits for", ...only(reason.workloadId) };
    case "notBefore":
      return { word: "Not yet", ...only("") };
    case "startWindow":
      return { word: "Off-peak", ...only("") };
    case "reservation":
      return { word: "Reserved", ...only("") };
    case "budget":
      return { word: "Budget", ...only(spentText(reason.resource, reason.limit)) };
    case "window":
      return { word: reason.window === "maintenance" ? "Maintenance" : "Kept free", ...only(reason.name) };
    case "hotSparesKept":
      return { word: "Spares", ...only(reason.nodes === 1 ? "1 node" : `${reason.nodes} nodes`) };
    case "nominated":
      return { word: "Promised", ...only("") };
    case "taskLimit":
      return { word: "Task limit", ...only("") };
    case "backoff":
      return { word: "Retry", ...only("") };
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
