/**
 * Decides whether a principal may perform an operation on a resource: a grant that holds for the resource's team must have
 * the permission that the operation declares. A resource that the principal may not read is answered like one that does not
 * exist. Authentication (`gate.ts`) creates the principal.
 */
import type { TeamName } from "@headroom/model";
import { ownOnly, permissions, permissionsOf } from "@headroom/protocol";
import type { Operation, Permission, Role } from "@headroom/protocol";

/** Permissions on a team and the teams below it; `team: null`: on the whole control plane. */
export interface Grant {
  readonly team: TeamName | null;
  readonly permissions: ReadonlySet<Permission>;
  /** Permissions among them that hold only for workloads of the principal's own user. */
  readonly ownOnly: ReadonlySet<Permission>;
}

/** The authenticated party of a request. */
export interface Principal {
  /** Actor recorded in every event that the principal's commands cause. */
  readonly actor: string;
  readonly grants: readonly Grant[];
  /** Id of the access token; `null`: the token of the state directory, or no authentication. */
  readonly tokenId: string | null;
}

/** The resource of an operation. */
export interface Resource {
  readonly kind: string;
  readonly name: string | null;
  /** The team that it belongs to, then the teams above it. Empty: it belongs to the whole control plane. */
  readonly teams: readonly TeamName[];
  /** The user who submitted it; `null`: it has no owner. */
  readonly owner: string | null;
}

export type Decision =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly permission: Permission; readonly resource: Resource }
  /** The principal may not read the resource, so the answer is that it does not exist. */
  | { readonly kind: "hidden" };

const none: ReadonlySet<Permission> = new Set();

export const grantOf = (team: TeamName | null, role: Role): Grant => ({
  team,
  permissions: permissionsOf[role],
  ownOnly: ownOnly[role] ?? none,
});

/** The grant of the token of the state directory, and of the users that its holder acts for (decision 18). */
export const wholeControlPlane: Grant = { team: null, permissions: new Set(permissions), ownOnly: none };

/** Whether the principal has the permission on any resource. */
export const holdsAnywhere = ({ grants }: Principal, permission: Permission): boolean =>
  grants.some((grant) => grant.permissions.has(permission));

/** Whether no resource is closed to the principal, so that nothing needs to be looked up for a decision. */
export const isUnbounded = ({ grants }: Principal): boolean => grants.includes(wholeControlPlane);

/** Whether the principal reads the work of all teams. */
export const readsAllTeams = ({ grants }: Principal): boolean =>
  grants.some((grant) => grant.team === null && grant.permissions.has("workloads.read"));

export function authorize(
  principal: Principal,
  { permission }: Pick<Operation, "permission">,
  resource: Resource,
): Decision {
  const grants = principal.grants.filter(({ team }) => team === null || resource.teams.includes(team));
  const isOwn = resource.owner === null || resource.owner === principal.actor;
  const isAllowed = grants.some(
    (grant) => grant.permissions.has(permission) && (isOwn || !grant.ownOnly.has(permission)),
  );
  if (isAllowed) return { kind: "allowed" };
  return grants.length === 0 && resource.teams.length > 0
    ? { kind: "hidden" }
    : { kind: "denied", permission, resource };
}
