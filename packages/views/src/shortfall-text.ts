/** The capacity that waiting work lacks: in the whole fleet, and at present. */
import { migTable, needsPart } from "@headroom/model";
import type { BlockedReason, ClosedCapacity, FleetLack, MigDevice, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { nearestName, writeInstant } from "@headroom/protocol";
import { fleetCause } from "./fleet-cause.ts";
import { needText, placesText } from "./need-text.ts";
import { acceleratorNoun, grouped, plural, resourceForm } from "./plain-text.ts";

type ShortfallSpec = Workload["spec"];
type Of<Kind extends BlockedReason["kind"]> = BlockedReason & { readonly kind: Kind };
type ClosedPlaces = Pick<ClosedCapacity, "nodeCount" | "name" | "window"> & { readonly nodes: readonly string[] };
type Fleet = Pick<ReadonlyState, "nodes">;

export function exceedsFleetSentence(fleet: Fleet, spec: ShortfallSpec, reason: Of<"exceedsFleet">): string {
  const { lack } = reason;
  const need = `Exceeds the fleet: it needs ${needText(spec)}`;
  if (lack?.of === "type") return `${need}; ${noTypeText(fleet, spec)}`;
  if (lack?.of === "part") return `${need}; ${noPartText(fleet, spec, lack.profile)}`;
  const cause = fleetCause(fleet, spec);
  const room = `${grouped(reason.placeableWorkers)} of ${plural(reason.workers, "worker")}`;
  const why = lack === undefined ? "" : lackText(spec, lack);
  return `${need}. Even if they were empty, the nodes that take work now would hold only ${room}${why}.${cause === null ? "" : ` ${cause}`}`;
}

/** Text such as `: none has more than 6 cores`, if this alone is too little, or the constraint between workers. */
function lackText(spec: ShortfallSpec, lack: FleetLack): string {
  switch (lack.of) {
    case "accelerators":
      return lack.perWorker > lack.perNodeMax && lack.perNodeMax > 0
        ? `: none${placesOf(spec)} has more than ${plural(lack.perNodeMax, "accelerator")}`
        : "";
    case "spread":
    case "fabric":
    case "executor":
      return constraintText(spec, lack.of);
    case "power":
      return " within the power and cooling caps of the site";
    case "type":
    case "part":
    case "nodeSelector":
      return "";
    default:
      return lack.perWorker > lack.perNodeMax
        ? `: none${placesOf(spec)} has more than ${resourceForm(lack.of)?.quantity(lack.perNodeMax)}`
        : "";
  }
}

const placesOf = (spec: ShortfallSpec): string => placesText(spec).replace(/^ on nodes/, " of them");

/** `, as at most 1 of them may share a rack`, ` within one leaf`, ` within one executor`. */
function constraintText({ spread, fabric }: ShortfallSpec, constraint: "spread" | "fabric" | "executor"): string {
  if (constraint === "executor") return " within one executor, and a gang cannot span executors";
  if (constraint === "spread")
    return `, as at most ${grouped(spread?.maxPerDomain ?? 0)} of them may share a ${spread?.topologyKey}`;
  const [slice] = fabric?.slices ?? [];
  return fabric?.within === undefined
    ? `, as each ${grouped(slice?.workers ?? 0)} of them must be within one ${slice?.within}`
    : ` within one ${fabric.within}`;
}

const TYPES_NAMED_MAX = 6;

function noTypeText({ nodes }: Fleet, { acceleratorTypes }: ShortfallSpec): string {
  const known = [...new Set([...nodes.values()].map(({ acceleratorType }) => acceleratorType))].filter(
    (type) => type !== "",
  );
  const [wanted = ""] = acceleratorTypes;
  const none = `no node has ${acceleratorNoun(acceleratorTypes, 2)}`;
  const nearest = acceleratorTypes.length === 1 ? nearestName(wanted, known) : undefined;
  if (nearest !== undefined) return `${none}; did you mean ${nearest}?`;
  if (known.length === 0) return `${none}.`;
  const more = known.length > TYPES_NAMED_MAX ? " and others" : "";
  return `${none}; the fleet has ${known.slice(0, TYPES_NAMED_MAX).join(", ")}${more}.`;
}

function noPartText({ nodes }: Fleet, { acceleratorTypes }: ShortfallSpec, profile: string): string {
  const devices = new Set<MigDevice>();
  for (const { mig, acceleratorType } of nodes.values())
    if (mig !== undefined && (acceleratorTypes.length === 0 || acceleratorTypes.includes(acceleratorType)))
      devices.add(mig);
  if (devices.size === 0) return "no pool with an accepted type states a MIG device (mig).";
  const divided = [...devices].map((device) => `${device} has ${[...(migTable(device)?.keys() ?? [])].join(", ")}`);
  return [...devices].some((device) => migTable(device)?.has(profile))
    ? "no node that takes work now has this MIG profile."
    : `no accepted type has this MIG profile: ${divided.join("; ")}.`;
}

export function acceleratorShortfallSentence(spec: ShortfallSpec, reason: Of<"acceleratorShortfall">): string {
  const { neededCount, freeCount, fleetCount } = reason;
  const places = placesText(spec);
  const free = `${grouped(freeCount)} of ${places === "" ? "" : "the "}${grouped(fleetCount)}${places === "" ? "" : " there"}`;
  return `Not enough free accelerators: it needs ${grouped(neededCount)} ${acceleratorNoun(spec.acceleratorTypes, neededCount)}${places}; ${free} are free.${closedSentence(reason.closed)}`;
}

/** ` 8 more are free on h200-04, which maintenance firmware closes from … until ….`; empty: nothing is closed. */
function closedSentence(closed: ClosedCapacity | undefined): string {
  if (closed === undefined) return "";
  const { freeCount, startMs, endMs } = closed;
  const isOne = freeCount === 1;
  return ` ${grouped(freeCount)} more ${isOne ? "is" : "are"} free on ${closedPlacesText(closed)} from ${writeInstant(startMs)} until ${writeInstant(endMs)}.`;
}

/** `h200-04, which maintenance firmware closes`. */
export function closedPlacesText({ nodeCount, nodes, name, window }: ClosedPlaces): string {
  const others = nodeCount > nodes.length ? ` and ${plural(nodeCount - nodes.length, "other node")}` : "";
  return `${nodes.join(", ")}${others}, which ${window} ${name} closes`;
}

export function partShortfallSentence(spec: ShortfallSpec, reason: Of<"partShortfall">): string {
  const { profile, sliceCount, workers, placeableWorkers, misalignedCount } = reason;
  const none =
    placeableWorkers === 0
      ? `no accelerator${placesText(spec)} has ${plural(sliceCount, "free memory slice")} at a position where this profile can start`
      : `only ${grouped(placeableWorkers)} of ${plural(workers, "worker")} ${placeableWorkers === 1 ? "fits" : "fit"}${placesText(spec)}`;
  const misaligned =
    misalignedCount === 0
      ? ""
      : `; ${plural(misalignedCount, "accelerator")} ${misalignedCount === 1 ? "has" : "have"} enough free slices, but at positions where ${profile} cannot start`;
  return `Not enough MIG slices: it needs ${needText(spec)}; ${none}${misaligned}.`;
}

/** The term with which the sentence begins, if the missing resource is not an accelerator. */
const shortfallTerms: Readonly<Record<string, string>> = {
  accelerators: "Fragmented capacity",
  room: "Not enough capacity on one node",
  spread: "Spread constraint",
  fabric: "Fabric constraint",
  executor: "Several executors",
};

const shortfallTerm = (binding: string): string =>
  shortfallTerms[binding] ?? `Not enough ${resourceForm(binding)?.noun ?? binding}`;

export function workerShortfallSentence(spec: ShortfallSpec, reason: Of<"workerShortfall">): string {
  const { gang } = spec;
  const need = `${shortfallTerm(reason.binding)}: it needs ${needText(spec)}`;
  const some = `${grouped(reason.placeableWorkers)} of ${plural(reason.workers, "worker")}`;
  const fit = reason.placeableWorkers === 1 ? "fits" : "fit";
  const places = placesText(spec);
  const closed = closedSentence(reason.closed);
  const free = needsPart(gang) ? "fractions of accelerators are free" : "accelerators are free";
  const beside = (resource: string): string => {
    const { noun: what = resource, verb = "is" } = resourceForm(resource) ?? {};
    return gang.accelerators > 0
      ? `${need}; ${free}${places}, but the ${what} beside them ${verb} enough for only ${some}.`
      : `${need}; the free ${what}${places} ${verb} enough for only ${some}.`;
  };
  switch (reason.binding) {
    case "accelerators":
      if (!needsPart(gang))
        return `${need}; ${grouped(reason.freeCount)} are free in total${places}, but only ${some} ${fit}.${closed}`;
      return reason.placeableWorkers === 0
        ? `${need}; no accelerator${places} has that much free.`
        : `${need}; accelerators${places} have that much free for only ${some}.`;
    case "room":
      return `${need}; of cores, memory and places for workers together, nodes${places.replace(/^ on nodes/, "")} have enough free for only ${some}.`;
    case "spread":
    case "fabric":
    case "executor":
      return `${need}; only ${some} ${fit}${places}${constraintText(spec, reason.binding)}.${closed}`;
    default:
      return beside(reason.binding);
  }
}
