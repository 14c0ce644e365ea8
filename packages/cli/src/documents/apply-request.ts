/** Converts documents to one request, and problems in the answer back to places in the documents. */
import type { ApplyRequest, CalendarEntry, Problem, WorkloadSpec } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { describeError, isProblemError } from "../describe-error.ts";
import { printable } from "../terminal.ts";
import type { LoadedDocument } from "./load-documents.ts";

type Facts = Readonly<Record<string, unknown>>;
type AfterSpec = NonNullable<WorkloadSpec["after"]>[number];

export function requestOf(loaded: readonly LoadedDocument[]): ApplyRequest {
  const request: ApplyRequest = { sites: [], pools: [], teams: [], workloads: [] };
  for (const each of loaded) {
    const { document } = each;
    switch (document.kind) {
      case "workload":
        request.workloads.push(document.spec);
        break;
      case "schedule":
        request.schedules = [...(request.schedules ?? []), document.schedule];
        break;
      case "pipeline":
        request.pipelines = [...(request.pipelines ?? []), document.pipeline];
        break;
      case "calendar":
        request.calendar = [...(request.calendar ?? []), document.entry];
        break;
      case "team":
        request.teams.push(document.team);
        break;
      case "fleet":
        if (document.fleet.simulatedNodes.length > 0) {
          throw new CliError(
            `${each.placeText(["sites"])}: simulated pools exist only in \`headroom simulate\`, not in a live fleet`,
            exitCode.usage,
          );
        }
        request.sites.push(...document.fleet.sites);
        request.pools.push(...document.fleet.pools);
        break;
    }
  }
  return request;
}

/** The same problem, with file, line and column if it is about one of the documents. */
export function withPlaces(error: unknown, loaded: readonly LoadedDocument[]): unknown {
  if (!isProblemError(error)) return error;
  const { problem } = error;
  const places = placesOf(problem, loaded);
  if (places.length === 0) return error;
  const { message } = describeError(error);
  return new CliError(
    `nothing was changed:\n${places.map((place) => `${place}: ${message}`).join("\n")}`,
    error.exitCode,
  );
}

function placesOf({ code, facts = {}, errors = [] }: Problem, loaded: readonly LoadedDocument[]): string[] {
  const place = (matches: (each: LoadedDocument) => boolean, path: readonly (string | number)[]): string[] => {
    const found = loaded.find(matches);
    return found === undefined ? [] : [found.placeText(path)];
  };
  const teams = Array.isArray(facts["teams"]) ? facts["teams"].map(String) : [];
  const isTeam = (name: unknown) => (each: LoadedDocument) =>
    each.document.kind === "team" && each.document.team.name === name;
  switch (code) {
    case "unknownTeam":
      return placeOfTeam(facts, loaded);
    case "teamCycle":
      return teams.flatMap((name) => place(isTeam(name), ["parent"])).slice(0, 1);
    case "workloadActive":
      return place(({ document }) => document.kind === "workload" && document.spec.name === facts["name"], ["name"]);
    case "unknownDependency":
    case "dependencyNotMet":
      return placeOfAfter(facts, loaded);
    case "unknownPool":
    case "unknownNode":
    case "reservedName":
    case "windowOver":
    case "reservationTooLarge":
      return place(({ document }) => document.kind === "calendar" && isAbout(document.entry, facts), ["name"]);
    case "unknownSite":
      return place(
        ({ document: each }) =>
          each.kind === "calendar" && each.entry.kind === "tariff" && each.entry.site === facts["site"],
        ["site"],
      );
    case "pipelineInvalid":
      return place(
        ({ document: each }) => each.kind === "pipeline" && each.pipeline.name === facts["name"],
        Array.isArray(facts["path"]) ? (facts["path"] as readonly (string | number)[]) : [],
      );
    case "neverDue":
      return place(({ document }) => nameOfTimes(document) === facts["name"], ["cron"]);
    case "poolInUse":
      return place(
        ({ document }) => document.kind === "fleet" && document.fleet.pools.some(({ name }) => name === facts["pool"]),
        ["sites"],
      );
    case "invalidRequest":
      return errors.flatMap(({ pointer }) => placeOfPointer(pointer, loaded)).slice(0, 1);
    default:
      return [];
  }
}

/** Places at which the documents name an unknown team, in the order in which the server checks them. */
function placeOfTeam({ team }: Facts, loaded: readonly LoadedDocument[]): string[] {
  const naming: readonly ((document: LoadedDocument["document"]) => readonly string[] | null)[] = [
    (each) => (each.kind === "team" && each.team.parent === team ? ["parent"] : null),
    (each) =>
      each.kind === "calendar" && each.entry.kind === "reservation" && each.entry.team === team ? ["team"] : null,
    (each) => (each.kind === "schedule" && each.schedule.spec.team === team ? ["workload", "team"] : null),
    (each) => (each.kind === "workload" && each.spec.team === team ? ["team"] : null),
    (each) => (each.kind === "pipeline" && each.pipeline.team === team ? ["team"] : null),
  ];
  const places = naming.flatMap((pathIn) =>
    loaded.flatMap(({ document, placeText }) => {
      const path = pathIn(document);
      return path === null ? [] : [placeText(path)];
    }),
  );
  return places.slice(0, 1);
}

/** Calendar windows and schedules in the documents. */
function nameOfTimes(document: LoadedDocument["document"]): string | null {
  if (document.kind === "schedule") return document.schedule.name;
  if (document.kind === "pipeline") return document.pipeline.name;
  return document.kind === "calendar" && document.entry.kind === "tariff" ? document.entry.name : null;
}

/** The entry with that name, or else an entry that names the pool or node. */
function isAbout(entry: CalendarEntry, { name, pool, nodeId }: Facts): boolean {
  if (name !== undefined) return entry.name === name;
  if (entry.kind === "tariff") return false;
  return entry.nodes?.some((node) => node === nodeId) === true || (entry.kind === "maintenance" && entry.pool === pool);
}

/** The first `after` that names work which neither exists nor is in the documents. For a cycle, its first entry. */
function placeOfAfter({ name, artifact, on, cycle }: Facts, loaded: readonly LoadedDocument[]): string[] {
  const works = loaded.flatMap(({ document, placeText }) =>
    document.kind === "workload" ? [{ spec: document.spec, placeText }] : [],
  );
  if (Array.isArray(cycle)) {
    const first = works.find(({ spec }) => spec.name === cycle[0] && spec.after !== undefined);
    return first === undefined ? [] : [first.placeText(["after"])];
  }
  const isThis = (each: AfterSpec): boolean =>
    "artifact" in each
      ? (each.workload ?? each.artifact) === name && (each.artifact === artifact || on === "artifact")
      : each.workload === name && artifact === undefined && on !== "artifact";
  for (const { spec, placeText } of works) {
    const comes = (each: AfterSpec): boolean => works.some((other) => isAwaited(other.spec, spec.team, each));
    const index = (spec.after ?? []).findIndex((each) => isThis(each) && !comes(each));
    if (index >= 0) return [placeText(["after", index])];
  }
  return [];
}

/** Whether an `after` in the same team waits for this workload. */
function isAwaited({ team, name, produces = [] }: WorkloadSpec, among: string, each: AfterSpec): boolean {
  const isNamed = each.workload === undefined || each.workload === name;
  return team === among && isNamed && (!("artifact" in each) || produces.includes(each.artifact));
}

/** The document of a path: `/workloads/3/…` is in the fourth workload document. */
function placeOfPointer(pointer: string, loaded: readonly LoadedDocument[]): string[] {
  const found = /^\/(workloads|teams)\/(\d+)/.exec(printable(pointer));
  if (found === null) return [];
  const kind = found[1] === "teams" ? "team" : "workload";
  const document = loaded.filter((each) => each.document.kind === kind)[Number(found[2])];
  return document === undefined ? [] : [document.placeText([])];
}
