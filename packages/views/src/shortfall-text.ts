/** The missing capacity of waiting work: in the whole fleet, and now. */
import { migTable } from "@headroom/engine";
import type { BlockedReason, FleetLack, MigDevice, ReadonlyState, Workload } from "@headroom/engine";
import { nearestName } from "@headroom/protocol";
import { fleetCause } from "./fleet-cause.ts";
import { needText, placesText } from "./need-text.ts";
import { acceleratorNoun, grouped, plural, resourceForm } from "./plain-text.ts";

type ShortfallSpec = Workload["spec"];
type Of<Kind extends BlockedReason["kind"]> = BlockedReason & { readonly kind: Kind };
type Fleet = Pick<ReadonlyState, "nodes">;

export function exceedsFleetSentence(fleet: Fleet, spec: ShortfallSpec, reason: Of<"exceedsFleet">): string {
  const { lack } = reason;
  const need = `It needs ${needText(spec)}`;
  if (lack?.of === "type") return `${need}; ${noTypeText(fleet, spec)}`;
  if (lack?.of === "part") return `${need}; ${noPartText(fleet, spec, lack.profile)}`;
  const cause = fleetCause(fleet, spec);
  const room = `${grouped(reason.placeableWorkers)} of ${plural(reason.workers, "worker")}`;
  const why = lack === undefined ? "" : lackText(spec, lack);
  return `${need}; even with nothing else running, the nodes that take work now have room for ${room}${why}.${cause === null ? "" : ` ${cause}`}`;
}

/** `: none has more than 6 cores`, if that alone is too little; or the workers' relative constraint. */
function lackText(spec: ShortfallSpec, lack: FleetLack): string {
  switch (lack.of) {
    case "accelerators":
      return lack.perWorker > lack.perNodeMax && lack.perNodeMax > 0
        ? `: none${placesOf(spec)} has more than ${plural(lack.perNodeMax, "accelerator")}`
        : "";
    case "spread":
    case "fabric":
      return constraintText(spec, lack.of);
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

/** `, as at most 1 of them may share a rack`, ` within one leaf`. */
function constraintText({ spread, fabric }: ShortfallSpec, constraint: "spread" | "fabric"): string {
  if (constraint === "spread")
    return `, as at most ${grouped(spread?.maxPerDomain ?? 0)} of them may share a ${spread?.topologyKey}`;
  const [slice] = fabric?.slices ?? [];
  return fabric?.within === undefined
    ? `, as each ${grouped(slice?.workers ?? 0)} of them lie within one ${slice?.within}`
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
  if (devices.size === 0) return "no accelerator that it may have is divided into parts (mig of a pool).";
  const divided = [...devices].map((device) => `${device} has ${[...(migTable(device)?.keys() ?? [])].join(", ")}`);
  return [...devices].some((device) => migTable(device)?.has(profile))
    ? "no node that takes work now has such a part."
    : `no accelerator that it may have has such a part: ${divided.join("; ")}.`;
}

export function acceleratorShortfallSentence(spec: ShortfallSpec, reason: Of<"acceleratorShortfall">): string {
  const { neededCount, freeCount, fleetCount } = reason;
  const places = placesText(spec);
  const free = `${grouped(freeCount)} of ${places === "" ? "" : "the "}${grouped(fleetCount)}${places === "" ? "" : " there"}`;
  return `It needs ${grouped(neededCount)} ${acceleratorNoun(spec.acceleratorTypes, neededCount)}${places}; ${free} are free.`;
}

export function partShortfallSentence(spec: ShortfallSpec, reason: Of<"partShortfall">): string {
  const { profile, sliceCount, workers, placeableWorkers, misalignedCount } = reason;
  const none =
    placeableWorkers === 0
      ? `no accelerator${placesText(spec)} has ${plural(sliceCount, "free memory slice")} where such a part may begin`
      : `there is room for ${grouped(placeableWorkers)} of ${plural(workers, "worker")}${placesText(spec)}`;
  const misaligned =
    misalignedCount === 0
      ? ""
      : `; ${plural(misalignedCount, "accelerator")} ${misalignedCount === 1 ? "has" : "have"} as many free, but not where a ${profile} may begin`;
  return `It needs ${needText(spec)}; ${none}${misaligned}.`;
}

export function workerShortfallSentence(spec: ShortfallSpec, reason: Of<"workerShortfall">): string {
  const { gang } = spec;
  const need = `It needs ${needText(spec)}`;
  const some = `${grouped(reason.placeableWorkers)} of ${plural(reason.workers, "worker")}`;
  const places = placesText(spec);
  const isPart = gang.shareMilli !== undefined || gang.profile !== undefined;
  const free = isPart ? "parts of accelerators are free" : "accelerators are free";
  const beside = (resource: string): string => {
    const { noun: what = resource, verb = "is" } = resourceForm(resource) ?? {};
    return gang.accelerators > 0
      ? `${need}; ${free}${places}, but there ${verb} ${what} with them for only ${some}.`
      : `${need}; enough ${what} ${verb} free${places} for only ${some}.`;
  };
  switch (reason.binding) {
    case "accelerators":
      if (!isPart)
        return `${need}; ${grouped(reason.freeCount)} are free in all${places}, but so scattered that there is room for ${some}.`;
      return reason.placeableWorkers === 0
        ? `${need}; no accelerator${places} has as much left.`
        : `${need}; as much is left of accelerators${places} for only ${some}.`;
    case "room":
      return `${need}; enough of all that on one node is free${places} for only ${some}.`;
    case "spread":
    case "fabric":
      return `${need}; there is room${places} for ${some}${constraintText(spec, reason.binding)}.`;
    default:
      return beside(reason.binding);
  }
}
