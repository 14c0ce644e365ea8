/**
 * Permissions that operations require, one for each kind of resource and access. Roles are sets of permissions. Every
 * row of the table of operations names a permission.
 */
export const permissions = [
  "artifacts.gate",
  "artifacts.read",
  "artifacts.write",
  "calendar.read",
  "calendar.write",
  "documents.apply",
  "endpoints.use",
  "events.read",
  "executors.write",
  "fleet.read",
  "fleet.write",
  "gateway.read",
  "mlflow.read",
  "mlflow.write",
  "pipelines.decide",
  "plan.read",
  "plan.write",
  "policy.read",
  "policy.write",
  "proposals.decide",
  "proposals.read",
  "proposals.write",
  "sessions.write",
  "simulations.run",
  "sizing.read",
  "status.read",
  "teams.read",
  "teams.write",
  "tokens.follow",
  "tokens.read",
  "tokens.write",
  "workloads.exec",
  "workloads.read",
  "workloads.write",
] as const;

export type Permission = (typeof permissions)[number];
