/** Words of artifacts in scenarios. */
import { artifactTitle, parseArtifactRef, teamName } from "@headroom/model";
import type { ArtifactChange, ArtifactName, Command, EventOf } from "@headroom/model";
import { command } from "../lab/make.ts";
import { wordsOf } from "./words.ts";

function nameOf(text: string): ArtifactName {
  const ref = parseArtifactRef(text);
  if (ref === null) throw new Error(`${text} is no artifact`);
  return { kind: ref.kind, team: ref.team ?? teamName("default"), name: ref.name };
}

const numberIn = (text: string): number => {
  const at = parseArtifactRef(text)?.at;
  return at?.kind === "version" ? at.number : 0;
};

/** `model:/path`, `model:chat:/path`, `score:data:,0.9`: name and path. */
export function madeOf(text: string): { readonly name: string; readonly path: string } {
  const result = text.indexOf(":data:,");
  const at = result < 0 ? text.lastIndexOf(":") : result;
  return { name: text.slice(0, at), path: text.slice(at + 1) };
}

/** `dataset:text [from=dataset:raw,s3://lake/x] [as=production] [digest=sha256:d1]` */
export function registerOf(text: string): Command {
  const { plain, fields } = wordsOf(text);
  return command({
    kind: "registerArtifact",
    artifact: {
      ...nameOf(plain[0] ?? ""),
      digest: fields.get("digest") ?? null,
      bytes: null,
      places: [{ store: "local", uri: `/data/${plain[0]}`, state: "declared" }],
      inputs: fields.get("from")?.split(",") ?? [],
    },
    aliases: fields.get("as")?.split(",") ?? [],
    reason: "",
  });
}

/** `model:chat@3 delete|restore|hold|release|alias=production|unalias=production|keep=2` */
export function changeOf(text: string): Command {
  const { plain, fields } = wordsOf(text);
  const [target = "", verb = ""] = plain;
  const number = numberIn(target);
  const [alias, unalias, keep] = [fields.get("alias"), fields.get("unalias"), fields.get("keep")];
  const change: ArtifactChange =
    alias !== undefined
      ? { kind: "alias", alias, number }
      : unalias !== undefined
        ? { kind: "alias", alias: unalias, number: null }
        : keep !== undefined
          ? { kind: "retention", keepVersions: Number(keep) }
          : { kind: verb as "delete" | "restore" | "hold" | "release", number };
  return command({ kind: "changeArtifact", artifact: nameOf(target), change, reason: "" });
}

export function artifactText(event: EventOf<"artifactRegistered" | "artifactChanged">): string {
  if (event.kind === "artifactRegistered") {
    const { number, producer, inputs, digest } = event.artifact;
    const from = inputs.length === 0 ? "" : ` from ${inputs.join(", ")}`;
    const maker = producer === undefined ? "" : ` by ${producer.attemptId}`;
    return `${artifactTitle(event.artifact)}@${number} is registered${maker}${from}${digest === null ? "" : `, ${digest}`}`;
  }
  const { change, actor, artifact } = event;
  const by = actor === null ? " by its retention" : "";
  switch (change.kind) {
    case "alias":
      return `${artifact}: ${change.alias} points to ${change.number ?? "nothing"}`;
    case "retention":
      return `${artifact}: ${change.keepVersions} versions are kept`;
    case "tags":
    case "place":
      return `${artifact}@${change.number}: ${change.kind}`;
    default:
      return `${artifact}@${change.number}: ${change.kind}${by}`;
  }
}
