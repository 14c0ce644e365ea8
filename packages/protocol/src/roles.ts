/**
 * Roles: sets of permissions that a token grants on a part of the tree of teams, or on the whole control plane. Each role
 * includes those before it.
 */
import { permissions, type Permission } from "./permissions.ts";

export const roles = ["viewer", "member", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

const viewer: readonly Permission[] = [
  "artifacts.read",
  "calendar.read",
  "events.read",
  "fleet.read",
  "gateway.read",
  "mlflow.read",
  "plan.read",
  "policy.read",
  "proposals.read",
  "sessions.write",
  "sizing.read",
  "status.read",
  "teams.read",
  "workloads.read",
];
const member: readonly Permission[] = [
  ...viewer,
  "artifacts.write",
  "documents.apply",
  "endpoints.use",
  "mlflow.write",
  "proposals.write",
  "simulations.run",
  "workloads.exec",
  "workloads.write",
];
const operator: readonly Permission[] = [
  ...member,
  "artifacts.gate",
  "calendar.write",
  "fleet.write",
  "pipelines.decide",
  "plan.write",
  "proposals.decide",
  "tokens.follow",
];

/** Permissions of each role on the teams for which it is granted. */
export const permissionsOf: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  viewer: new Set(viewer),
  member: new Set(member),
  operator: new Set(operator),
  admin: new Set(permissions),
};

/** Permissions that a role has only on workloads of its own user. */
export const ownOnly: Readonly<Partial<Record<Role, ReadonlySet<Permission>>>> = {
  member: new Set<Permission>(["workloads.exec", "workloads.write"]),
};
