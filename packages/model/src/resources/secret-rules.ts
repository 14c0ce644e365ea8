/** Rules of an executor by which work may name Secrets of its cluster. In a rule, `{team}` or `{user}` stands for those of the work. */
import type { SecretReferences, WorkloadSpec } from "./workload.ts";

/** Team and submitter of work that names Secrets. */
export interface SecretAsker {
  readonly actor: string;
  readonly spec: Pick<WorkloadSpec, "team" | "secrets">;
}

/** The rule that any Secret of the namespace fits. */
export const ANY_SECRET = "*";

/** RFC 1123, "label". */
const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
/** RFC 1123, "subdomain", of Secrets. */
const SECRET = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Names of the Secrets, each once, in the order of their use. */
export const secretNames = ({ env = {}, envFrom = [], pull = [] }: SecretReferences): readonly string[] => [
  ...new Set([
    ...Object.values(env).map((reference) => reference.slice(0, reference.indexOf("/"))),
    ...envFrom,
    ...pull,
  ]),
];

/** The first Secret that no rule admits; `null`: the work may have all that it names. */
export function refusedSecret(rules: readonly string[], asker: SecretAsker): string | null {
  const { secrets } = asker.spec;
  if (secrets === undefined || rules.includes(ANY_SECRET)) return null;
  const admits = (name: string): boolean =>
    rules.includes(name) || rules.some((rule) => rule.includes("{") && secretByRule(rule, asker) === name);
  return secretNames(secrets).find((name) => !admits(name)) ?? null;
}

/** `null`: the rule gives no name for this submitter or team, and another rule may. */
function secretByRule(rule: string, { actor, spec }: SecretAsker): string | null {
  const team = teamLabel(spec.team);
  if ((rule.includes("{user}") && !LABEL.test(actor)) || (rule.includes("{team}") && team === null)) return null;
  const name = rule.replaceAll("{user}", actor).replaceAll("{team}", () => team ?? "");
  return SECRET.test(name) ? name : null;
}

/** The team as a part of names of Kubernetes: `lab/nlp` is `lab--nlp`, which no other team is. `null`: it can be none. */
export function teamLabel(team: string): string | null {
  const segments = team.split("/");
  return segments.every((each) => LABEL.test(each) && !each.includes("--")) ? segments.join("--") : null;
}
