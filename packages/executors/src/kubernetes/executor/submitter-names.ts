/**
 * The namespace and the service account of an attempt, by the rules of the executor. A submitter or a team that the rules do not map is
 * refused before a pod exists: a changed name could be that of someone else. Pure.
 */
import { teamLabel } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import type { KubernetesSettings } from "../settings.ts";

type Launch = Pick<LaunchGang, "actor" | "spec">;

/** RFC 1123, "label". */
const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export function namespaceOf(
  launch: Launch,
  { namespace, namespaces }: Pick<KubernetesSettings, "namespace" | "namespaces">,
): string {
  if (namespaces === undefined) return byRule(namespace, launch);
  const { team } = launch.spec;
  for (let at: string = team; at !== ""; at = at.slice(0, Math.max(at.lastIndexOf("/"), 0))) {
    const listed = Object.hasOwn(namespaces, at) ? namespaces[at] : undefined;
    if (listed !== undefined) return byRule(listed, launch);
  }
  const other = namespaces["*"];
  if (other !== undefined) return byRule(other, launch);
  throw new RefusedGang(`the team ${team} has no namespace. Add the team, or *, to namespaces of the executor`);
}

/** `null`: none, and no token is mounted. */
export function serviceAccountOf(
  launch: Launch,
  { serviceAccount, serviceAccounts }: Pick<KubernetesSettings, "serviceAccount" | "serviceAccounts">,
): string | null {
  const { actor } = launch;
  const listed = Object.hasOwn(serviceAccounts ?? {}, actor) ? serviceAccounts?.[actor] : undefined;
  const rule = listed ?? serviceAccount;
  if (rule !== undefined) return byRule(rule, launch);
  if (serviceAccounts === undefined) return null;
  throw new RefusedGang(
    `the submitter ${actor} has no service account. Add ${actor} to serviceAccounts of the executor, or set serviceAccount for the others`,
  );
}

/** Whether the rights of work depend on its submitter: by the service account, the namespace, or its Secrets. */
export const mapsSubmitters = ({
  namespace,
  namespaces = {},
  serviceAccount = "",
  serviceAccounts,
  secrets,
}: Pick<KubernetesSettings, "namespace" | "namespaces" | "serviceAccount" | "serviceAccounts" | "secrets">): boolean =>
  serviceAccounts !== undefined ||
  [serviceAccount, namespace, ...Object.values(namespaces), ...secrets].some((rule) => rule.includes("{user}"));

/**
 * Throws a `RefusedGang` if the rule gives no name of Kubernetes. No two teams, or two submitters, have one name by a rule: what would have
 * to be changed or cut is refused.
 */
export function byRule(rule: string, launch: Launch): string {
  const { actor, spec } = launch;
  if (rule.includes("{user}") && !LABEL.test(actor))
    throw new RefusedGang(
      `the submitter ${actor} is no name of Kubernetes (lower-case letters, digits and '-'). Add ${actor} to serviceAccounts of the executor`,
    );
  const name = filled(rule, launch);
  if (LABEL.test(name)) return name;
  throw new RefusedGang(
    `${rule} gives ${name} for the team ${spec.team}, which is no name of Kubernetes (at most 63 lower-case letters, digits and '-'). List the team in namespaces of the executor, or change the rule`,
  );
}

const filled = (rule: string, { actor, spec }: Launch): string =>
  rule.replaceAll("{user}", actor).replaceAll("{team}", () => labelOf(spec.team));

function labelOf(team: string): string {
  const label = teamLabel(team);
  if (label !== null) return label;
  throw new RefusedGang(
    `the team ${team} is no part of a name of Kubernetes (lower-case letters, digits and single '-'), and a changed name could be that of another team. List the team in namespaces of the executor, and use no {team} in its other rules`,
  );
}

/** The team of the pods that others created in a namespace: the reverse of `namespaceOf`. `null`: the rules name none, or several. */
export function teamOfNamespace(
  namespace: string,
  { namespace: rule, namespaces, adoptTeams }: Pick<KubernetesSettings, "namespace" | "namespaces" | "adoptTeams">,
): string | null {
  if (adoptTeams !== undefined) return Object.hasOwn(adoptTeams, namespace) ? (adoptTeams[namespace] ?? null) : null;
  if (namespaces !== undefined) {
    const teams = Object.entries(namespaces).flatMap(([team, name]) =>
      name === namespace && team !== "*" ? [team] : [],
    );
    return teams.length === 1 ? (teams[0] ?? null) : null;
  }
  const [before, after, ...more] = rule.split("{team}");
  if (before === undefined || after === undefined || more.length > 0) return null;
  if (!namespace.startsWith(before) || !namespace.endsWith(after)) return null;
  const label = namespace.slice(before.length, namespace.length - after.length);
  const segments = label.split("--");
  return segments.every((each) => LABEL.test(each)) ? segments.join("/") : null;
}

/** The submitter of pods with this service account: the reverse of `serviceAccounts`. Others have the name of the account. */
export function submitterOf(
  account: string,
  { serviceAccounts = {} }: Pick<KubernetesSettings, "serviceAccounts">,
): string {
  const submitters = Object.entries(serviceAccounts).filter(([, name]) => name === account);
  return submitters.length === 1 ? (submitters[0]?.[0] ?? account) : account;
}
