/** Artifacts in the demo: the same views and commands as in the server. */
import { artifactTitle } from "@headroom/model";
import { artifactChangeRequest, artifactGateRequest, artifactRequest } from "@headroom/protocol";
import type { ArtifactChanged, HeadroomClient } from "@headroom/protocol";
import * as views from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import type { DemoWorld } from "./demo-world.ts";

type ArtifactReading = Pick<
  HeadroomClient,
  "listArtifacts" | "getArtifact" | "listArtifactVersions" | "getArtifactVersion" | "artifactLineage"
>;
type ArtifactCommands = Pick<HeadroomClient, "registerArtifact" | "changeArtifact" | "setArtifactGate">;

export function artifactReading({ engine }: Pick<DemoWorld, "engine">): ArtifactReading {
  const find = (text: string): views.FoundArtifact => views.findArtifact(engine.state, text, null);
  return {
    listArtifacts: async (query = {}) => views.artifactList(engine.state, query, null),
    getArtifact: async (text) => views.artifactResource(engine.state, find(text).artifact),
    listArtifactVersions: async (text, query = {}) => views.versionList(engine.state, find(text).artifact, query),
    getArtifactVersion: async (text) => views.versionView(engine.state, find(text), null),
    artifactLineage: async (text, { direction = "both", depth } = {}) =>
      views.artifactLineage(engine.state, views.versionAt(engine.state, find(text)), {
        direction,
        depth,
        readable: null,
      }),
  };
}

export const artifactCommands = (
  { engine }: Pick<DemoWorld, "engine">,
  run: DemoWorld["command"],
): ArtifactCommands => ({
  registerArtifact: async (body) => {
    const wanted = views.registerArtifactCommand(accepted(artifactRequest.safeParse(body)));
    const result = run(wanted);
    if (result.kind !== "artifactRegistered") throw new Error(`the engine answered ${result.kind}`);
    const { artifact, number } = result;
    return { artifact, ref: `${artifactTitle(wanted.artifact)}@${number}`, number };
  },
  changeArtifact: async (text, body) => {
    const { artifact } = views.findArtifact(engine.state, text, null);
    return changed(run(views.changeArtifactCommand(artifact, accepted(artifactChangeRequest.safeParse(body)))));
  },
  setArtifactGate: async (text, alias, body) => {
    const { artifact } = views.findArtifact(engine.state, text, null);
    return changed(run(views.gateCommand(artifact, alias, accepted(artifactGateRequest.safeParse(body)))));
  },
});

function changed(result: ReturnType<DemoWorld["command"]>): ArtifactChanged {
  if (result.kind !== "artifactChanged") throw new Error(`the engine answered ${result.kind}`);
  const { artifact, number } = result;
  return { artifact, number };
}
