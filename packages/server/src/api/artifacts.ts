/** Artifacts: reads for the teams that the caller may see, and commands. */
import type { ReadonlyState } from "@headroom/engine";
import { artifactTitle, versionId } from "@headroom/model";
import type { ArtifactChange, ArtifactName } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import * as views from "@headroom/views";
import { readableTeams } from "../auth/team-tree.ts";
import { command } from "./calls.ts";
import type { Answer, Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";
import { ruledStoreOf, ruleOfVersion } from "./stores.ts";

type ArtifactCall = Pick<Call<"getArtifact">, "params" | "principal">;

/** Reads about the artifact in the path. */
const ofArtifact = <Result>(
  { driver }: ControlPlane,
  { params: { artifact: text }, principal }: ArtifactCall,
  read: (state: ReadonlyState, found: views.FoundArtifact) => Result,
): Promise<Result> =>
  driver.read(({ state }) => read(state, views.findArtifact(state, text, readableTeams(state, principal))));

export const listArtifacts = (
  { driver }: ControlPlane,
  { query, principal }: Call<"listArtifacts">,
): Promise<Answer<"listArtifacts">> =>
  driver.read(({ state }) => views.artifactList(state, query, readableTeams(state, principal)));

export const getArtifact = (plane: ControlPlane, call: Call<"getArtifact">): Promise<Answer<"getArtifact">> =>
  ofArtifact(plane, call, (state, { artifact }) => views.artifactResource(state, artifact));

export const listArtifactVersions = (
  plane: ControlPlane,
  call: Call<"listArtifactVersions">,
): Promise<Answer<"listArtifactVersions">> =>
  ofArtifact(plane, call, (state, { artifact }) => views.versionList(state, artifact, call.query));

export const getArtifactVersion = (
  plane: ControlPlane,
  call: Call<"getArtifactVersion">,
): Promise<Answer<"getArtifactVersion">> =>
  ofArtifact(plane, call, (state, found) => views.versionView(state, found, readableTeams(state, call.principal)));

export const artifactLineage = (
  plane: ControlPlane,
  call: Call<"artifactLineage">,
): Promise<Answer<"artifactLineage">> =>
  ofArtifact(plane, call, (state, found) => {
    const { direction = "both", depth } = call.query;
    const readable = readableTeams(state, call.principal);
    return views.artifactLineage(state, views.versionAt(state, found), { direction, depth, readable });
  });

export async function registerArtifact(
  plane: ControlPlane,
  call: Call<"registerArtifact">,
): Promise<Answer<"registerArtifact">> {
  const asked = views.registerArtifactCommand(call.body);
  const rule = ruleOfVersion(plane, asked.artifact);
  const wanted = { ...asked, artifact: { ...asked.artifact, ...(rule === undefined ? {} : { rule }) } };
  const { artifact, number } = await command(plane, call, wanted, "artifactRegistered");
  return { artifact, ref: `${artifactTitle(wanted.artifact)}@${number}`, number };
}

export async function changeArtifact(
  plane: ControlPlane,
  call: Call<"changeArtifact">,
): Promise<Answer<"changeArtifact">> {
  const wanted = await ofArtifact(plane, call, (state, { artifact }) => {
    const asked = views.changeArtifactCommand(artifact, call.body);
    if (asked.change.kind === "place") checkPlace(plane, state, asked.artifact, asked.change);
    return asked;
  });
  const { artifact, number } = await command(plane, call, wanted, "artifactChanged");
  return { artifact, number };
}

export async function setArtifactGate(
  plane: ControlPlane,
  call: Call<"setArtifactGate">,
): Promise<Answer<"setArtifactGate">> {
  const wanted = await ofArtifact(plane, call, (_state, { artifact }) =>
    views.gateCommand(artifact, call.params.alias, call.body),
  );
  const { artifact, number } = await command(plane, call, wanted, "artifactChanged");
  return { artifact, number };
}

/** A further place must admit the rule that the version has. A version without a rule cannot get one afterwards. */
export function checkPlace(
  plane: Pick<ControlPlane, "storeService">,
  state: ReadonlyState,
  name: ArtifactName,
  { number, place, removed }: ArtifactChange & { readonly kind: "place" },
): void {
  const version = state.artifactVersions.get(versionId(name, number));
  if (removed === true || version === undefined) return;
  const rule = ruleOfVersion(plane, {
    ...name,
    places: [place],
    ...(version.rule === undefined ? {} : { rule: version.rule }),
  });
  const ruled = version.rule === undefined ? ruledStoreOf(plane, version.places) : null;
  if (ruled !== null) {
    const reason = `its bytes lie in the store ${ruled.name}, which has data with rules (${ruled.rules.join(", ")}), and ${version.id} has none: register a new version with the rule`;
    throw refuse("invalidRequest", `The place cannot be added. ${reason}.`, {
      errors: [{ pointer: "/change/place/uri", message: reason }],
    });
  }
  if (rule === version.rule) return;
  const message = `the store of ${place.uri} has data with the rule ${rule ?? ""}, and ${version.id} has none: register a new version with the rule`;
  throw refuse("invalidRequest", `The place cannot be added. ${message}.`, {
    errors: [{ pointer: "/change/place/uri", message }],
  });
}
