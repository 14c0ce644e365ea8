/** Artifacts in sentences: refusals and events. */
import type { Rejection } from "@headroom/model";
import type { AliasGate, ArtifactChange, Event } from "@headroom/protocol";
import { grouped } from "./plain-text.ts";

const artifactCodes = [
  "unknownArtifact",
  "tooManyArtifacts",
  "artifactInUse",
  "artifactOnHold",
  "artifactUnchanged",
  "aliasGated",
  "gateFailed",
] as const;
export type ArtifactRejection = Extract<Rejection, { readonly code: (typeof artifactCodes)[number] }>;

export const isArtifactRejection = (rejection: Rejection): rejection is ArtifactRejection =>
  artifactCodes.some((code) => code === rejection.code);

export function artifactRejectionSentence(rejection: ArtifactRejection): string {
  switch (rejection.code) {
    case "unknownArtifact":
      return `There is no artifact ${rejection.artifact}, or it is deleted. headroom artifact list shows all; a workload of the same file that makes it is named in after.`;
    case "tooManyArtifacts":
      return `${limitText(rejection)}.`;
    case "artifactInUse":
      return `${rejection.artifact} cannot be deleted: ${rejection.by.join(", ")}${rejection.count > rejection.by.length ? ` and ${grouped(rejection.count - rejection.by.length)} more` : ""} ${rejection.count === 1 ? "depends" : "depend"} on it.`;
    case "artifactOnHold":
      return `${rejection.artifact} cannot be deleted: ${rejection.actor} put it on legal hold${because(rejection.reason)}. Release it first (headroom artifact hold ${rejection.artifact} --release).`;
    case "artifactUnchanged":
      return `${rejection.artifact} is in that state already: ${rejection.change} changes nothing.`;
    case "aliasGated": {
      const { artifact, number } = rejection;
      const version = number === null ? "--remove" : `--number ${number}`;
      return `${artifact} has a gate: another user must approve the move. Propose it: headroom proposal create alias ${artifact} ${version} --reason TEXT.`;
    }
    case "gateFailed":
      return `${rejection.artifact} does not pass the gate of ${rejection.alias}: ${rejection.metric} must be ${operatorTexts[rejection.operator]} ${rejection.value ?? "a number"}, and ${rejection.found === null ? "it has no such metric" : `is ${rejection.found}`}.`;
  }
}

const operatorTexts = { lt: "below", le: "at most", gt: "above", ge: "at least" } as const;

/** `loss at most 1.7, with approval`. */
export function gateText({ test, approval }: AliasGate): string {
  const value = test?.value ?? "that of the version to which it points";
  const parts = [
    ...(test === undefined ? [] : [`${test.metric} ${operatorTexts[test.operator]} ${value}`]),
    ...(approval === true ? ["approval by another user"] : []),
  ];
  return parts.join(", ");
}

function limitText({ of, maxCount }: Rejection & { readonly code: "tooManyArtifacts" }): string {
  const most = `at most ${grouped(maxCount)} ${of}`;
  switch (of) {
    case "artifacts":
      return `The registry has ${most}, and none is removed. Register a version of an existing one`;
    case "versions":
      return `The registry keeps ${most}. Delete those that nothing needs, or set a retention (headroom artifact retain)`;
    case "aliases":
      return `An artifact has ${most}, removed ones included. Move one of them`;
    case "places":
    case "tags":
      return `A version has ${most}. Remove one first`;
  }
}

const because = (reason: string): string => (reason === "" ? "" : `: ${reason}`);

export type ArtifactEvent = Extract<
  Event,
  { readonly kind: "artifactRegistered" | "artifactNotRegistered" | "artifactChanged" }
>;

export const isArtifactEvent = (event: Event): event is ArtifactEvent =>
  event.kind === "artifactRegistered" || event.kind === "artifactNotRegistered" || event.kind === "artifactChanged";

export function artifactEventSentence(event: ArtifactEvent): string {
  switch (event.kind) {
    case "artifactRegistered": {
      const { kind, name, number, producer, actor } = event.artifact;
      return `${kind}:${name}@${number} was registered${producer === undefined ? ` by ${actor}` : `: attempt ${producer.attemptId} made it`}.`;
    }
    case "artifactNotRegistered":
      return `Attempt ${event.attemptId} succeeded, but ${event.name} was not registered: ${event.detail}.`;
    case "artifactChanged":
      return `${event.actor ?? "The retention"} ${changeText(event.artifact, event.change)}${because(event.reason)}.`;
  }
}

function changeText(artifact: string, change: ArtifactChange): string {
  switch (change.kind) {
    case "alias":
      return change.number === null
        ? `removed the alias ${artifact}@${change.alias}`
        : `moved the alias ${artifact}@${change.alias} to version ${change.number}`;
    case "tags":
      return `changed the tags of ${artifact}@${change.number}`;
    case "place":
      return `${change.removed === true ? "removed" : "recorded"} the place ${change.place.uri} of ${artifact}@${change.number}`;
    case "hold":
      return `put ${artifact}@${change.number} on legal hold`;
    case "release":
      return `released ${artifact}@${change.number} from legal hold`;
    case "delete":
      return `deleted ${artifact}@${change.number}`;
    case "restore":
      return `restored ${artifact}@${change.number}`;
    case "gate":
      return change.gate === null
        ? `removed the gate of ${artifact}@${change.alias}`
        : `set the gate of ${artifact}@${change.alias}: ${gateText(change.gate)}`;
    case "retention":
      return change.keepVersions === null
        ? `keeps every version of ${artifact}`
        : `keeps ${change.keepVersions} versions of ${artifact}`;
  }
}
