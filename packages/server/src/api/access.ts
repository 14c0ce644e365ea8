/**
 * Access to routes. Every request has a principal. A route is either on the list of open routes or requires a
 * permission; any other route is closed. The decision uses the route that the router matched, never the text of the
 * URL.
 */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { InvariantError } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { Operation, Permission, ProblemError } from "@headroom/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { authorize, holdsAnywhere } from "../auth/authorize.ts";
import type { Principal, Resource } from "../auth/authorize.ts";
import type { Denials } from "../auth/denials.ts";
import type { Gate } from "../auth/gate.ts";
import type { ConnectionBounds } from "./connection-bounds.ts";

/** Routes that answer without authentication. They disclose nothing that is not public in the sources. */
export const openRoutes: ReadonlySet<string> = new Set(["/*", "/healthz", "/login", "/readyz", "/v1/openapi.json"]);

/** `authenticated`: every principal has access. Used for addresses that belong to no operation. */
export type Access = Permission | "authenticated";

declare module "fastify" {
  interface FastifyRequest {
    /** The principal of the request; set before any handler runs. */
    principal: Principal;
  }
  interface FastifyContextConfig {
    access?: Access;
    /** The row of the operations table; absent: the route has none, and needs the permission on the whole control plane. */
    row?: Operation;
  }
}

/** Principal of an unauthenticated request to an open route: no name and no permissions. */
const nobody: Principal = { actor: "", grants: [], tokenId: null };

/** The parts that check a request before its body is read. */
interface AccessParts {
  readonly gate: Pick<Gate, "misdirected" | "principal">;
  readonly connections: Pick<ConnectionBounds, "authenticated">;
  readonly denials: Denials;
  readonly nowMs: () => number;
}

export function addAccess(app: FastifyInstance, { gate, connections, denials, nowMs }: AccessParts): void {
  app.decorateRequest("principal", null as unknown as Principal);
  app.addHook("onRoute", ({ method, url, config }) => {
    if (!openRoutes.has(url) && config?.access === undefined)
      throw new InvariantError(`the route ${String(method)} ${url} declares no permission and is not listed as open`);
  });
  app.addHook("onRequest", (request, _reply, done) => {
    const { headers, rawHeaders, socket, url: target = "" } = request.raw;
    if (hasSeveralHosts(rawHeaders)) return done(refuse("ambiguousHost", "Send one Host header."));
    const misdirected = gate.misdirected(headers, target);
    if (misdirected !== null) return done(misdirected);
    const { url, config } = request.routeOptions;
    if (url !== undefined && openRoutes.has(url)) {
      request.principal = nobody;
      return done();
    }
    const principal = gate.principal(headers, isTls(socket));
    if (principal === null) return done(unauthorized(headers.authorization !== undefined));
    request.principal = principal;
    connections.authenticated(socket);
    const access = config.access ?? "authenticated";
    if (access !== "authenticated") {
      const operation = config.row ?? null;
      // Operations on single resources are decided again when the resource is known (`resource-access.ts`). All others
      // are decided here: a role on some teams is not enough for the whole control plane.
      const resource = resourceOf(request, operation);
      const isDenied =
        operation === null || operation.subject === "fleet"
          ? authorize(principal, { permission: access }, resource).kind !== "allowed"
          : !holdsAnywhere(principal, access);
      if (isDenied) {
        denials.record(denialOf({ principal, permission: access, resource, atMs: nowMs() }, config.operation ?? ""));
        return done(permissionDenied(principal, access, resource));
      }
    }
    done();
  });
}

/** Whether the connection is encrypted. Servers with TLS give requests a `TLSSocket`. */
export const isTls = (socket: Socket): boolean => (socket as Partial<TLSSocket>).encrypted === true;

/**
 * Whether the request has more than one `Host` header. Node uses the first and a proxy could use the last, so such a
 * request must be refused (RFC 9112 §3.2).
 */
function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === "host") count++;
  return count > 1;
}

interface Denied {
  readonly principal: Principal;
  readonly permission: Permission;
  readonly resource: Resource;
  readonly atMs: number;
}

export const denialOf = ({ principal, permission, resource, atMs }: Denied, operation: string) => ({
  atMs,
  user: principal.actor,
  token: principal.tokenId,
  operation,
  permission,
  name: resource.name,
});

export function permissionDenied(
  principal: Principal,
  permission: Permission,
  { kind, name }: Pick<Resource, "kind" | "name">,
): ProblemError {
  const subject = `${kind}${name === null ? "" : ` ${name}`}`;
  return refuse(
    "permissionDenied",
    `${principal.actor} needs the permission ${permission} for ${subject}. Ask an administrator for a role with this permission.`,
    { facts: { permission, resource: { kind, name } } },
  );
}

function resourceOf({ routeOptions, params }: FastifyRequest, operation: Operation | null): Resource {
  const kind = operation?.tag ?? routeOptions.config.operation ?? "";
  const { id, name } = params as { readonly id?: string; readonly name?: string };
  return { kind, name: id ?? name ?? null, teams: [], owner: null };
}

function unauthorized(isTokenGiven: boolean): Error {
  return refuse(
    "unauthorized",
    isTokenGiven
      ? "The token does not belong to this control plane. The right token is in the file `token` of its home directory."
      : "Send the token as `Authorization: Bearer …`, or open the link that `headroom login` prints in this browser.",
  );
}
