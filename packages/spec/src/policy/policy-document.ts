/** A policy in a file: in the terms of the API, complete or as differences from a preset. */
import type { z } from "zod";
import { problemsOf, type DocumentProblem } from "../document-problem.ts";
import { notAChoice } from "../encoding/read-values.ts";
import { nearestName } from "../notation/nearest.ts";
import { shown } from "../notation/reading.ts";
import { policyKnobs } from "./policy-knobs.ts";
import { policy, type Policy } from "./policy.ts";

export type PolicyReading =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly DocumentProblem[] };

type PolicyMapping = Readonly<Record<string, unknown>>;

/**
 * `base` names the preset for settings that the file does not state, also within sections. A section that is `null` is
 * left out. Without `base` the file must be complete.
 */
export function readPolicy(value: unknown, presets: readonly Policy[]): PolicyReading {
  if (!isMapping(value)) return refused([], `must be a mapping of settings, got ${shown(value)}`);
  const { base, ...written } = value;
  const found = presets.find(({ name }) => name === base);
  if (base !== undefined && found === undefined) {
    return refused(
      ["base"],
      notAChoice(
        base,
        presets.map(({ name }) => name),
      ),
    );
  }
  const whole = found === undefined ? written : onTopOf(found, written);
  const outcome = policy.safeParse(whole);
  if (outcome.success) {
    const { name } = outcome.data;
    if (!presets.some((preset) => preset.name === name)) return { ok: true, policy: outcome.data };
    return refused(["name"], `must be a new name, because ${name} is a preset`);
  }
  return { ok: false, problems: problemsOf(outcome.error.issues.map(inPlainWords), whole) };
}

const refused = (path: DocumentProblem["path"], message: string): PolicyReading => ({
  ok: false,
  problems: [{ path, isAboutKey: false, message }],
});

function isMapping(value: unknown): value is PolicyMapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function onTopOf(base: PolicyMapping, written: PolicyMapping): PolicyMapping {
  const merged = new Map(Object.entries(base));
  for (const [knob, value] of Object.entries(written)) {
    const before = merged.get(knob);
    if (value === null && isMapping(before)) merged.delete(knob);
    else merged.set(knob, isMapping(value) && isMapping(before) ? { ...before, ...value } : value);
  }
  return Object.fromEntries(merged);
}

/** Replaces zod's own messages by the wording of the other documents. */
function inPlainWords(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  switch (issue.code) {
    case "unrecognized_keys":
      return { ...issue, message: issue.keys.map((key) => unknownKnob(key, issue.path)).join("\n") };
    case "invalid_value":
      return { ...issue, message: `must be ${issue.values.map(String).join(" or ")}` };
    case "invalid_type":
      return issue.message.startsWith("Invalid") ? { ...issue, message: `must be of type ${issue.expected}` } : issue;
    default:
      return issue;
  }
}

function unknownKnob(key: string, path: readonly PropertyKey[]): string {
  const prefix = path.map((step) => `${String(step)}.`).join("");
  const beside = policyKnobs().filter((knob) => knob.path.startsWith(prefix));
  const known = new Set(beside.map((knob) => knob.path.slice(prefix.length).split(".")[0] ?? ""));
  const nearest = nearestName(key, [...known]);
  const hint = nearest === undefined ? `the settings here are ${[...known].join(", ")}` : `did you mean ${nearest}?`;
  return `unknown setting; ${hint}`;
}
