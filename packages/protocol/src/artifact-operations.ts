/** Rows of the operations table about artifacts. */
import { names } from "@headroom/spec";
import { z } from "zod";
import {
  artifactChangeRequest,
  artifactChanged,
  artifactGateRequest,
  artifactLineage,
  artifactLineageQuery,
  artifactPage,
  artifactQuery,
  artifactRegistered,
  artifactRequest,
  artifactResource,
  artifactVersion,
  artifactVersionPage,
  artifactVersionQuery,
} from "./artifact.ts";
import { operation } from "./operation.ts";
import { commandProblems } from "./operation-problems.ts";

const byArtifact = z.strictObject({ artifact: names.artifactRef });
const absent = ["unknownArtifact", "ambiguousArtifact"] as const;

export const artifactOperations = {
  listArtifacts: operation("GET /v1/artifacts", "Artifacts with their newest versions and aliases", artifactPage, {
    permission: "artifacts.read",
    subject: "teams",
    query: artifactQuery,
    problems: ["invalidCursor"],
  }),
  registerArtifact: operation("POST /v1/artifacts", "Register a version of an artifact", artifactRegistered, {
    permission: "artifacts.write",
    subject: "body",
    body: artifactRequest,
    status: 201,
    problems: ["unknownTeam", "unknownArtifact", "tooManyArtifacts", "aliasGated", "gateFailed", ...commandProblems],
  }),
  getArtifact: operation(
    "GET /v1/artifacts/{artifact}",
    "One artifact with the moves of its aliases",
    artifactResource,
    {
      permission: "artifacts.read",
      subject: "artifact",
      params: byArtifact,
      problems: absent,
    },
  ),
  listArtifactVersions: operation(
    "GET /v1/artifacts/{artifact}/versions",
    "Versions of an artifact, newest first",
    artifactVersionPage,
    {
      permission: "artifacts.read",
      subject: "artifact",
      params: byArtifact,
      query: artifactVersionQuery,
      problems: [...absent, "invalidCursor"],
    },
  ),
  getArtifactVersion: operation(
    "GET /v1/artifacts/{artifact}/version",
    "One version: the newest, or that of the number or alias after @",
    artifactVersion,
    { permission: "artifacts.read", subject: "artifact", params: byArtifact, problems: absent },
  ),
  artifactLineage: operation(
    "GET /v1/artifacts/{artifact}/lineage",
    "Lineage of a version: its sources, and everything that was made with it",
    artifactLineage,
    {
      permission: "artifacts.read",
      subject: "artifact",
      params: byArtifact,
      query: artifactLineageQuery,
      problems: absent,
    },
  ),
  changeArtifact: operation(
    "POST /v1/artifacts/{artifact}/changes",
    "Move an alias, set tags, record a place, hold, release, delete or restore a version",
    artifactChanged,
    {
      permission: "artifacts.write",
      subject: "artifact",
      params: byArtifact,
      body: artifactChangeRequest,
      problems: [
        ...absent,
        "tooManyArtifacts",
        "artifactInUse",
        "artifactOnHold",
        "artifactUnchanged",
        "aliasGated",
        "gateFailed",
        ...commandProblems,
      ],
    },
  ),
  setArtifactGate: operation(
    "PUT /v1/artifacts/{artifact}/gates/{alias}",
    "Set the gate of an alias: a test of a metric, an approval by another user, or neither, which removes it",
    artifactChanged,
    {
      permission: "artifacts.gate",
      subject: "artifact",
      params: z.strictObject({ artifact: names.artifactRef, alias: names.artifactAlias }),
      body: artifactGateRequest,
      problems: [...absent, "tooManyArtifacts", ...commandProblems],
    },
  ),
};
