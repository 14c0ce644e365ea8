/** From documents to one request, and from what the server says about the request back to the documents. */
import type { ApplyRequest, CalendarEntry, Problem } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { describeError, isProblemError } from "../describe-error.ts";
import { printable } from "../terminal.ts";
import type { LoadedDocument } from "./load-documents.ts";

type Facts = Readonly<Record<string, unknown>>;

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

/** The same refusal, said with file, line and column where it is about one of the documents. */
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
    case "unknownTeam": {
      const parent = place(
        ({ document }) => document.kind === "team" && document.team.parent === facts["team"],
        ["parent"],
      );
      return parent.length > 0
        ? parent
        : place(({ document }) => document.kind === "workload" && document.spec.team === facts["team"], ["team"]);
    }
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

/** The entry of that name, else one that names the pool or node. */
function isAbout(entry: CalendarEntry, { name, pool, nodeId }: Facts): boolean {
  if (name !== undefined) return entry.name === name;
  if (entry.kind === "tariff") return false;
  return entry.nodes?.some((node) => node === nodeId) === true || (entry.kind === "maintenance" && entry.pool === pool);
}

/** The first `after` that names what is not there, nor comes with it in the documents; of a circle that of the first in it. */
function placeOfAfter({ name, artifact, cycle }: Facts, loaded: readonly LoadedDocument[]): string[] {
  const works = loaded.flatMap(({ document, placeText }) =>
    document.kind === "workload" ? [{ spec: document.spec, placeText }] : [],
  );
  if (Array.isArray(cycle)) {
    const first = works.find(({ spec }) => spec.name === cycle[0] && spec.after !== undefined);
    return first === undefined ? [] : [first.placeText(["after"])];
  }
  for (const { spec, placeText } of works) {
    const index = (spec.after ?? []).findIndex((each) =>
      "artifact" in each
        ? each.artifact === artifact && (each.workload ?? each.artifact) === name
        : artifact === undefined && each.workload === name,
    );
    const comes = works.some((other) => other.spec.team === spec.team && other.spec.name === name);
    if (index >= 0 && !comes) return [placeText(["after", index])];
  }
  return [];
}

/** `/workloads/3/…`: the fourth document that is a workload. */
function placeOfPointer(pointer: string, loaded: readonly LoadedDocument[]): string[] {
  const found = /^\/(workloads|teams)\/(\d+)/.exec(printable(pointer));
  if (found === null) return [];
  const kind = found[1] === "teams" ? "team" : "workload";
  const document = loaded.filter((each) => each.document.kind === kind)[Number(found[2])];
  return document === undefined ? [] : [document.placeText([])];
}
