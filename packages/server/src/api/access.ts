/**
 * Access to routes. Every request has a principal. A route is either on the list of open routes or requires a
 * permission; any other route is closed. The decision uses the route that the router matched, never the text of the
 * URL.
 */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { InvariantError } from "@headroom/model";
import { operations, refuse } from "@headroom/protocol";
import type { Operation, OperationName, Permission } from "@headroom/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { authorize } from "../auth/authorize.ts";
import type { Principal, Resource } from "../auth/authorize.ts";
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
  }
}

/** Principal of an unauthenticated request to an open route: no name and no permissions. */
const nobody: Principal = { actor: "", permissions: new Set() };

export function addAccess(
  app: FastifyInstance,
  gate: Pick<Gate, "misdirected" | "principal">,
  connections: Pick<ConnectionBounds, "authenticated">,
): void {
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
    if (access !== "authenticated") requirePermission(principal, access, resourceOf(request));
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

/** Throws `permissionDenied` if `authorize` denies. */
function requirePermission(principal: Principal, permission: Permission, resource: Resource): void {
  const decision = authorize(principal, { permission }, resource);
  if (decision.kind === "allowed") return;
  const { kind, name } = decision.resource;
  throw refuse(
    "permissionDenied",
    `${principal.actor} needs the permission ${permission} for ${kind}${name === null ? "" : ` ${name}`}. Ask an administrator for a role with this permission.`,
    { facts: { permission, resource: decision.resource } },
  );
}

function resourceOf({ routeOptions, params }: FastifyRequest): Resource {
  const { operation = "" } = routeOptions.config;
  const kind = Object.hasOwn(operations, operation) ? operations[operation as OperationName].tag : operation;
  const { id, name } = params as { readonly id?: string; readonly name?: string };
  return { kind, name: id ?? name ?? null };
}

/**
 * Checks additional permissions of an operation whose body contains several kinds of resources: one permission for each
 * kind in the body.
 */
export function requirePartPermissions(principal: Principal, { partPermissions }: Operation, body: unknown): void {
  for (const [part, permission] of Object.entries(partPermissions)) {
    const items = (body as Readonly<Record<string, unknown>>)[part];
    if (items === true || (Array.isArray(items) && items.length > 0))
      requirePermission(principal, permission, { kind: part, name: null });
  }
}

function unauthorized(isTokenGiven: boolean): Error {
  return refuse(
    "unauthorized",
    isTokenGiven
      ? "The token does not belong to this control plane. The right token is in the file `token` of its home directory."
      : "Send the token as `Authorization: Bearer …`, or open the link that `headroom login` prints in this browser.",
  );
}
