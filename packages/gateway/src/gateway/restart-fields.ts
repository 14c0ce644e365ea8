/** Fields of gateway.yaml that a running gateway does not take over. */
import { isDeepStrictEqual } from "node:util";
import type { GatewayConfig } from "../config/schema.ts";

const readers: Readonly<Record<string, (config: GatewayConfig) => unknown>> = {
  id: ({ id }) => id,
  listen: ({ listen }) => listen,
  reusePort: ({ reusePort }) => reusePort,
  insecure: ({ insecure }) => insecure,
  tls: ({ tls }) => tls,
  admin: ({ admin }) => admin,
  adminHosts: ({ adminHosts }) => adminHosts,
  adminToken: ({ adminToken }) => adminToken,
  state: ({ state }) => state,
  coordinator: ({ coordinator }) => coordinator,
  coordinatorSecret: ({ coordinatorSecret }) => coordinatorSecret,
  usage: ({ usage }) => usage,
  controlPlane: ({ controlPlane }) => controlPlane,
  tracing: ({ tracing }) => tracing,
  accessLog: ({ accessLog }) => accessLog,
  batches: ({ batches }) => batches,
  "bounds.connections": ({ bounds }) => bounds.connections,
  "bounds.bodies": ({ bounds }) => bounds.bodies,
  "bounds.shutdownTimeout": ({ bounds }) => bounds.shutdownTimeout,
};

/** The fields in which `next` differs from the configuration with which the gateway was started. */
export function fieldsForRestart(started: GatewayConfig, next: GatewayConfig): readonly string[] {
  return Object.entries(readers)
    .filter(([, read]) => !isDeepStrictEqual(read(started), read(next)))
    .map(([field]) => field);
}
