/** Words of artifacts in scenarios. */
import { artifactKey, artifactTitle, parseArtifactRef, teamName } from "@headroom/model";
import type { ArtifactChange, GateTest, ArtifactName, Command, EventOf } from "@headroom/model";
import type { ReadonlyState } from "../../src/index.ts";
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

/** `loss:1.6,score:0.9` */
export const metricsOf = (text: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    text.split(",").map((part) => [part.slice(0, part.indexOf(":")), Number(part.slice(part.indexOf(":") + 1))]),
  );

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
      ...(fields.has("metric") ? { metrics: metricsOf(fields.get("metric") ?? "") } : {}),
      inputs: fields.get("from")?.split(",") ?? [],
    },
    aliases: fields.get("as")?.split(",") ?? [],
    reason: "",
  });
}

const signs = { "<=": "le", ">=": "ge", "<": "lt", ">": "gt" } as const;

/** `loss<=1.7`, `loss<current`. */
function gateTestOf(text: string): GateTest {
  const [, metric = "", sign = "<", value = ""] = /^(.+?)(<=|>=|<|>)(.+)$/.exec(text) ?? [];
  const operator = signs[sign as keyof typeof signs];
  return { metric, operator, value: value === "current" ? null : Number(value) };
}

/** `model:chat@production [test=loss<=1.7] [approval]`, `model:chat@production none` */
export function gateOf(text: string): Command {
  const { plain, fields } = wordsOf(text);
  const [target = "", ...marks] = plain;
  const [artifact = "", alias = ""] = target.split("@");
  const test = fields.has("test") ? { test: gateTestOf(fields.get("test") ?? "") } : {};
  const gate = marks.includes("none")
    ? null
    : { ...test, ...(marks.includes("approval") ? { approval: true as const } : {}) };
  return command({
    kind: "changeArtifact",
    artifact: nameOf(artifact),
    change: { kind: "gate", alias, gate },
    reason: "",
  });
}

/** `model:chat@2 production`: proposes that the alias points to the version. */
export function moveProposalOf(text: string): Command {
  const [target = "", alias = ""] = text.split(/\s+/);
  const change = { kind: "alias", artifact: artifactKey(nameOf(target)), alias, number: numberIn(target) } as const;
  return command({ kind: "createProposal", change, reason: "better", ground: [] });
}

/** `approve|reject|withdraw [by=lead]`, about the newest proposal. */
export function decisionOf({ proposals }: ReadonlyState, text: string): Command {
  const { plain, fields } = wordsOf(text);
  const [verdict = ""] = plain;
  const id = [...proposals.keys()].at(-1) ?? "";
  const decided = command({
    kind: "decideProposal",
    id,
    verdict: verdict as "approve" | "reject" | "withdraw",
    reason: "",
  });
  return { ...decided, actor: fields.get("by") ?? decided.actor };
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
    case "gate":
      return `${artifact}: gate of ${change.alias} ${JSON.stringify(change.gate)}`;
    case "tags":
    case "place":
      return `${artifact}@${change.number}: ${change.kind}`;
    default:
      return `${artifact}@${change.number}: ${change.kind}${by}`;
  }
}
