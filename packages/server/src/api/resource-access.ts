/**
 * Access to single resources, decided when the request has been read: the team and the owner of what it names. Principals
 * without bounds, such as the holder of the token of the state directory, pass without any lookup.
 */
import type { ReadonlyState } from "@headroom/engine";
import { parseArtifactRef, pipelineRunId } from "@headroom/model";
import type { TeamName, WorkloadId } from "@headroom/model";
import { operations, ProblemError, refuse } from "@headroom/protocol";
import type { Operation, OperationName, Permission } from "@headroom/protocol";
import { absentArtifact, findArtifact, rejectionProblem } from "@headroom/views";
import { authorize, isUnbounded } from "../auth/authorize.ts";
import type { Principal } from "../auth/authorize.ts";
import { readableTeams, withTeamsAbove } from "../auth/team-tree.ts";
import type { TeamParents } from "../auth/team-tree.ts";
import { denialOf, permissionDenied } from "./access.ts";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";
import { ofProposal, ofProposed } from "./proposal-access.ts";
import type { ReadCall, ResourceNeed } from "./resource-need.ts";
import { beyondGrants } from "./team-rights.ts";

interface PathNames {
  readonly id?: string;
  readonly name?: string;
}

export const noWorkload = (id: string): ProblemError =>
  refuse("unknownWorkload", `There is no workload ${id}; it may have ended long ago.`);

const rejected = (rejection: Parameters<typeof rejectionProblem>[0]): Error =>
  new ProblemError(rejectionProblem(rejection));

/** Throws if the principal may not perform the operation on what the request names. */
export async function requireResources(plane: ControlPlane, name: OperationName, call: ReadCall): Promise<void> {
  const { principal } = call;
  if (isUnbounded(principal)) return;
  const operation: Operation = operations[name];
  const wanted = await plane.driver.read(({ state }) => wantedOf({ plane, state, operation, call }));
  for (const { permission, resource, absent } of wanted) {
    const decision = authorize(principal, { permission }, resource);
    if (decision.kind === "hidden") throw absent();
    if (decision.kind === "allowed") continue;
    plane.denials.record(denialOf({ principal, permission, resource, atMs: plane.nowMs() }, name));
    throw permissionDenied(principal, permission, resource);
  }
}

interface AccessQuestion {
  readonly plane: ControlPlane;
  readonly state: ReadonlyState;
  readonly operation: Operation;
  readonly call: ReadCall;
}

function wantedOf(asked: AccessQuestion): readonly ResourceNeed[] {
  const { operation, call, state, plane } = asked;
  const { permission } = operation;
  const { id = "", name = "" } = call.params as PathNames;
  switch (operation.subject) {
    case "workload":
      return [...ofWorkload(state, permission, id), ...workloadParts(asked, id), ...dependencies(state, call)];
    case "body":
      return [ofBody(state, permission, call), ...dependencies(state, call)];
    case "artifact":
      return ofArtifactInPath(asked);
    case "team":
      return ofTeam(asked, permission, name as TeamName);
    case "schedule":
      return ofSchedule(state, permission, name);
    case "proposal":
      return ofProposal(state, permission, call, id);
    case "proposed":
      return ofProposed(state, permission, call);
    case "pipeline":
      return ofPipeline(state, permission, name);
    case "pipelineRuns":
      return ofNewRuns(state, permission, name);
    case "pipelineRun":
      return ofPipelineRun(state, permission, id);
    case "token":
      return id === "" ? [] : ofToken(plane, state, permission, id);
    case "documents":
      return ofDocuments(asked);
    case "fleet":
      return fleetParts(asked);
    case "any":
    case "teams":
    case "exec":
      return [];
  }
}

/** The teams of what does not exist. Roles on teams are answered here, so that it looks like what they may not see. */
const nobodysTeams: readonly TeamName[] = ["" as TeamName];

function ofWorkload(state: ReadonlyState, permission: Permission, id: string): ResourceNeed[] {
  const workload = state.workloads.get(id as WorkloadId);
  const teams = workload === undefined ? nobodysTeams : withTeamsAbove(state, workload.spec.team);
  const resource = { kind: "workloads", name: id, teams, owner: workload?.actor ?? null };
  return [{ permission, resource, absent: () => noWorkload(id) }];
}

/** An artifact without a team in its name is looked up among those that the principal may read; the handler reports the rest. */
function ofArtifactInPath({ state, operation: { permission }, call }: AccessQuestion): ResourceNeed[] {
  const { artifact: text = "" } = call.params as { readonly artifact?: string };
  const { team } = findArtifact(state, text, readableTeams(state, call.principal)).artifact;
  return [
    {
      permission,
      resource: { kind: "artifacts", name: text, teams: withTeamsAbove(state, team), owner: null },
      absent: () => absentArtifact(text),
    },
  ];
}

function workloadParts({ state, operation, call }: AccessQuestion, id: string): ResourceNeed[] {
  const body = (call.body ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(operation.partPermissions).flatMap(([part, permission]) =>
    body[part] === true ? ofWorkload(state, permission, id) : [],
  );
}

function fleetParts({ operation, call }: AccessQuestion): ResourceNeed[] {
  const body = (call.body ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(operation.partPermissions).flatMap(([part, permission]) =>
    body[part] === true || (Array.isArray(body[part]) && body[part].length > 0)
      ? ofFleet(permission, call.principal)
      : [],
  );
}

function ofFleet(permission: Permission, principal: Principal): ResourceNeed {
  const resource = { kind: "fleet", name: null, teams: [], owner: null };
  return { permission, resource, absent: () => permissionDenied(principal, permission, resource) };
}

/** Work can depend on a workload by its id, also on one of another team. It must not show whether that exists. */
function dependencies(
  state: ReadonlyState,
  { body, principal }: Pick<ReadCall, "body" | "principal">,
  readable = readableTeams(state, principal),
): ResourceNeed[] {
  const { after, ...spec } = (body ?? {}) as DependingBody;
  const workloads = (after ?? []).flatMap(({ workload = "" }): ResourceNeed[] => {
    const found = state.workloads.get(workload as WorkloadId);
    if (found === undefined || readable === null || readable.has(found.spec.team)) return [];
    return [
      {
        permission: "workloads.read",
        resource: { kind: "workloads", name: workload, teams: [found.spec.team], owner: null },
        absent: () => rejected({ code: "unknownDependency", name: workload }),
      },
    ];
  });
  return [...workloads, ...artifactNeeds(artifactsNamed(spec), readable)];
}

interface DependingBody {
  readonly after?: readonly { readonly workload?: string }[] | null;
  readonly servedModel?: string | null;
  readonly data?: { readonly inputs?: readonly string[] | null } | null;
  /** Inputs of a version that is registered. */
  readonly inputs?: readonly string[] | null;
}

const artifactsNamed = ({ servedModel, data, inputs }: DependingBody): readonly string[] => [
  ...(data?.inputs ?? []),
  ...(inputs ?? []),
  ...(typeof servedModel === "string" ? [servedModel] : []),
];

/** Artifacts that are named with their team. A name without a team is one of the team of the body. */
const artifactNeeds = (texts: readonly string[], readable: ReadonlySet<string> | null): ResourceNeed[] =>
  texts.flatMap((text): ResourceNeed[] => {
    const team = parseArtifactRef(text)?.team ?? null;
    return team === null || readable === null || readable.has(team)
      ? []
      : [
          {
            permission: "artifacts.read",
            resource: { kind: "artifacts", name: text, teams: [team], owner: null },
            absent: () => rejected({ code: "unknownArtifact", artifact: text }),
          },
        ];
  });

function ofBody(state: ReadonlyState, permission: Permission, { body }: ReadCall): ResourceNeed {
  const { team } = body as { readonly team: TeamName | null };
  const teams = team === null ? [] : withTeamsAbove(state, team);
  return {
    permission,
    resource: { kind: "teams", name: team, teams, owner: null },
    absent: () => rejected({ code: "unknownTeam", team: team ?? "" }),
  };
}

/**
 * Teams are changed by whoever administers the team above: nobody raises the limits of their own team. A team without a
 * team above belongs to the whole control plane.
 */
function ofTeam(
  { state, call: { principal } }: AccessQuestion,
  permission: Permission,
  name: TeamName,
): ResourceNeed[] {
  const absent = (): Error => refuse("unknownTeamName", `There is no team ${name}.`);
  const seen = { kind: "teams", name, teams: withTeamsAbove(state, name), owner: null };
  const changed = { ...seen, teams: withTeamsAbove(state, name).slice(1) };
  return [
    { permission: "teams.read", resource: seen, absent },
    { permission, resource: changed, absent: () => permissionDenied(principal, permission, changed) },
  ];
}

function ofSchedule(state: ReadonlyState, permission: Permission, name: string): ResourceNeed[] {
  const item = state.schedules.get(name);
  const absent = (): Error => rejected({ code: "unknownSchedule", name });
  const teams = item === undefined ? nobodysTeams : withTeamsAbove(state, item.schedule.spec.team);
  return [{ permission, resource: { kind: "schedules", name, teams, owner: item?.actor ?? null }, absent }];
}

function ofPipeline(state: ReadonlyState, permission: Permission, name: string): ResourceNeed[] {
  const item = state.pipelines.get(name);
  const absent = (): Error => rejected({ code: "unknownPipeline", name });
  const teams = item === undefined ? nobodysTeams : withTeamsAbove(state, item.pipeline.team);
  return [{ permission, resource: { kind: "pipelines", name, teams, owner: item?.actor ?? null }, absent }];
}

/** A member of the team may run the pipeline of another one: the run and its workloads belong to who starts it. */
const ofNewRuns = (state: ReadonlyState, permission: Permission, name: string): ResourceNeed[] =>
  ofPipeline(state, permission, name).map((need) => ({ ...need, resource: { ...need.resource, owner: null } }));

function ofPipelineRun(state: ReadonlyState, permission: Permission, id: string): ResourceNeed[] {
  const run = state.pipelineRuns.get(pipelineRunId(id));
  const absent = (): Error => rejected({ code: "unknownPipelineRun", runId: id });
  const teams = run === undefined ? nobodysTeams : withTeamsAbove(state, run.pipeline.team);
  return [{ permission, resource: { kind: "pipelineRuns", name: id, teams, owner: run?.actor ?? null }, absent }];
}

function ofToken({ tokens }: ControlPlane, state: ReadonlyState, permission: Permission, id: string): ResourceNeed[] {
  const token = tokens.get(id);
  const isOfAll = token !== null && token.team === null;
  const teams = isOfAll ? [] : token === null ? nobodysTeams : withTeamsAbove(state, token.team as TeamName);
  const absent = (): Error => refuse("unknownToken", `There is no token ${id}.`);
  return [{ permission, resource: { kind: "tokens", name: id, teams, owner: null }, absent }];
}

type Documents = Call<"apply">["body"];
type DeclaredTriggers = NonNullable<NonNullable<Documents["pipelines"]>[number]["triggers"]>;

const artifactsIn = (triggers: DeclaredTriggers): readonly string[] =>
  triggers.flatMap((each) => (each.kind === "artifact" ? [each.artifact] : each.kind === "alias" ? [each.alias] : []));

function ofDocuments(asked: AccessQuestion): ResourceNeed[] {
  const { state, operation, call } = asked;
  const { teams, workloads, schedules = [], pipelines = [], sites, pools, calendar = [] } = call.body as Documents;
  const part = (name: string): Permission => operation.partPermissions[name] ?? operation.permission;
  const { principal } = call;
  const readable = readableTeams(state, principal);
  const tree = withDeclared(state, teams);
  const owners = ownersOf(state, workloads);
  const wholeFleet = Object.entries({ sites, pools, calendar }).filter(([, documents]) => documents.length > 0);
  return [
    ...wholeFleet.map(([name]) => ofFleet(part(name), call.principal)),
    ...teams.flatMap((team) => ofTeamDocument(asked, part("teams"), { team, tree })),
    ...beyondGrants(state, { principal, permission: part("teams") }, teams).map((resource) => ({
      permission: part("teams"),
      resource,
      absent: () => permissionDenied(principal, part("teams"), resource),
    })),
    ...workloads.flatMap((spec) => [
      ofWorkDocument(part("workloads"), spec, { tree, owner: owners.get(nameOf(spec)) ?? null }),
      ...dependencies(state, { principal, body: spec }, readable),
    ]),
    ...schedules.flatMap(({ name, spec }) => [
      ofWorkDocument(part("schedules"), { team: spec.team }, { tree, owner: null }),
      ...dependencies(state, { principal, body: spec }, readable),
      ...(state.schedules.has(name) ? ofSchedule(state, part("schedules"), name) : []),
    ]),
    ...pipelines.flatMap(({ name, team, steps, triggers = [] }) => [
      ofWorkDocument(part("pipelines"), { team }, { tree, owner: null }),
      // A trigger on an artifact of another team tells when that team makes a version, and which.
      ...artifactNeeds(artifactsIn(triggers), readable),
      ...steps.flatMap(({ spec }) => (spec === null ? [] : dependencies(state, { principal, body: spec }, readable))),
      ...(state.pipelines.has(name) ? ofPipeline(state, part("pipelines"), name) : []),
    ]),
  ];
}

/**
 * The tree with the new teams of the request, so that one request can declare a team and what belongs to it. Each of these
 * teams needs its own permission. Teams that exist stay where they are.
 */
const withDeclared = ({ teams }: ReadonlyState, documents: Documents["teams"]): TeamParents => {
  const declared = new Map(documents.map(({ name, parent }) => [name, { parent: parent as TeamName | null }]));
  return { teams: { get: (name) => teams.get(name) ?? declared.get(name) } };
};

/** The team above must be administered, today's and the new one. */
function ofTeamDocument(
  { state, call: { principal } }: AccessQuestion,
  permission: Permission,
  { team: { name, parent }, tree }: { readonly team: Documents["teams"][number]; readonly tree: TeamParents },
): ResourceNeed[] {
  const above = [state.teams.get(name as TeamName)?.parent, parent].filter((each) => each !== undefined);
  return above.map((team) => ({
    permission,
    resource: { kind: "teams", name, teams: team === null ? [] : withTeamsAbove(tree, team as TeamName), owner: null },
    absent: () => permissionDenied(principal, permission, { kind: "teams", name }),
  }));
}

const nameOf = ({ team, name }: { readonly team: string; readonly name: string }): string => `${team} ${name}`;

/** Users whose waiting or running work has the team and name of a document. One pass finds those of all documents. */
function ownersOf({ workloads }: ReadonlyState, documents: Documents["workloads"]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  const names = new Set(documents.map(({ name }) => name));
  if (names.size > 0)
    for (const { endedAtMs, spec, actor } of workloads.values())
      if (endedAtMs === null && names.has(spec.name)) owners.set(nameOf(spec), actor);
  return owners;
}

/** A document with the name of waiting or running work of its team changes that work, and `owner` submitted it. */
const ofWorkDocument = (
  permission: Permission,
  { team, name }: { readonly team: string; readonly name?: string },
  { tree, owner }: { readonly tree: TeamParents; readonly owner: string | null },
): ResourceNeed => ({
  permission,
  resource: { kind: "workloads", name: name ?? null, teams: withTeamsAbove(tree, team as TeamName), owner },
  absent: () => rejected({ code: "unknownTeam", team }),
});
