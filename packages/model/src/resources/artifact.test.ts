/** The notation of artifacts: one reader and one writer. */
import { describe, expect, it } from "vitest";
import { artifactTitle, nameOfId, parseArtifactRef, versionId } from "./artifact.ts";
import { teamName } from "./ids.ts";

describe("the notation of artifacts", () => {
  it("names a version, an alias or the newest version, of the own team or another", () => {
    const chat = { kind: "model", team: null, name: "chat" };
    expect(parseArtifactRef("model:chat@3")).toEqual({ ...chat, at: { kind: "version", number: 3 } });
    expect(parseArtifactRef("model:chat@production")).toEqual({ ...chat, at: { kind: "alias", alias: "production" } });
    expect(parseArtifactRef("model:chat")).toEqual({ ...chat, at: null });
    expect(parseArtifactRef("model:chat@latest")).toEqual({ ...chat, at: null });
    expect(parseArtifactRef("dataset:research/nlp/text@2")).toMatchObject({ team: "research/nlp", name: "text" });
  });

  it.each([
    "s3://corpus/v7",
    "/data/model:chat",
    "model:",
    "model:chat@0",
    "model:chat@03",
    "model:chat@3@4",
    "model:chat@",
    "model:../chat",
    "model:/chat",
    "model:-chat",
    "model:team/",
    "Model:chat",
    "video:chat",
    `model:${"x".repeat(64)}`,
    `model:${"t/".repeat(40)}chat`,
  ])("does not read %s", (text) => {
    expect(parseArtifactRef(text)).toBeNull();
  });

  it("reads what it writes", () => {
    const name = { kind: "checkpoint", team: teamName("research/nlp"), name: "base" } as const;
    const id = versionId(name, 12);
    expect(id).toBe("checkpoint:research/nlp/base@12");
    expect(nameOfId(id)).toEqual(name);
    expect(parseArtifactRef(id)?.at).toEqual({ kind: "version", number: 12 });
    expect(artifactTitle(name)).toBe("checkpoint:base");
  });
});
