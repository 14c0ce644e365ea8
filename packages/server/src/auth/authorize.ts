/**
 * Decides whether a principal may perform an operation: the permission that the operation declares must be among the
 * principal's. There are no roles yet, and teams and owners do not count. Authentication (`gate.ts`) creates the principal.
 */
import { permissions } from "@headroom/protocol";
import type { Operation, Permission } from "@headroom/protocol";

/** The authenticated party of a request. */
export interface Principal {
  /** Actor recorded in every event that the principal's commands cause. */
  readonly actor: string;
  readonly permissions: ReadonlySet<Permission>;
}

/** The resource of an operation: the first segment of its path, and the name in it if there is one. */
export interface Resource {
  readonly kind: string;
  readonly name: string | null;
}

export type Decision =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly permission: Permission; readonly resource: Resource };

/**
 * Permissions of the only role that exists so far: the holder of the token, and the users that the holder acts for
 * (decision 18).
 */
export const allPermissions: ReadonlySet<Permission> = new Set(permissions);

export function authorize(
  principal: Principal,
  { permission }: Pick<Operation, "permission">,
  resource: Resource,
): Decision {
  return principal.permissions.has(permission) ? { kind: "allowed" } : { kind: "denied", permission, resource };
}
