/** Artifacts in the demo: the same views and commands as in the server. */
import { artifactChangeRequest, artifactRequest, refuse } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";
import * as views from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import type { DemoWorld } from "./demo-world.ts";

type ArtifactReading = Pick<
  HeadroomClient,
  "listArtifacts" | "getArtifact" | "listArtifactVersions" | "getArtifactVersion" | "artifactLineage"
>;
type ArtifactCommands = Pick<HeadroomClient, "registerArtifact" | "changeArtifact">;

export function artifactReading({ engine }: Pick<DemoWorld, "engine">): ArtifactReading {
  const find = (text: string): views.FoundArtifact => views.findArtifact(engine.state, text, null);
  return {
    listArtifacts: async (query = {}) => views.artifactList(engine.state, query, null),
    getArtifact: async (text) => views.artifactResource(engine.state, find(text).artifact),
    listArtifactVersions: async (text, query = {}) => views.versionList(engine.state, find(text).artifact, query),
    getArtifactVersion: async (text) => views.versionView(engine.state, find(text), { text, readable: null }),
    artifactLineage: async (text, { direction = "both", depth } = {}) => {
      const version = views.versionAt(engine.state, find(text));
      if (version === null) throw refuse("unknownArtifact", `There is no artifact ${text}, or it is deleted.`);
      return views.artifactLineage(engine.state, version, { direction, depth, readable: null });
    },
  };
}

export const artifactCommands = (
  { engine }: Pick<DemoWorld, "engine">,
  run: DemoWorld["command"],
): ArtifactCommands => ({
  registerArtifact: async (body) => {
    const wanted = views.registerArtifactCommand(accepted(artifactRequest.safeParse(body)));
    run(wanted);
    const { key, ref, newest } = views.artifactResource(
      engine.state,
      views.findArtifact(engine.state, views.fullName(wanted.artifact), null).artifact,
    );
    const number = newest?.number ?? 0;
    return { artifact: `${key}@${number}`, ref: `${ref}@${number}`, number };
  },
  changeArtifact: async (text, body) => {
    const wanted = views.changeArtifactCommand(
      views.findArtifact(engine.state, text, null).artifact,
      accepted(artifactChangeRequest.safeParse(body)),
    );
    run(wanted);
    return { artifact: views.fullName(wanted.artifact), number: views.numberOf(wanted.change) };
  },
});
