import type { GatewayConfig } from "../config/schema.ts";
import type { ClientLimits } from "../http/client-connection.ts";

/** Bounds on what a client sends, and how long it may take, from the configuration. */
export function clientLimits({ bounds }: GatewayConfig): ClientLimits {
  return {
    headBytesMax: bounds.head,
    bodyBytesMax: bounds.body,
    headTimeoutMs: bounds.headTimeout,
    bodyTimeoutMs: bounds.bodyTimeout,
    idleTimeoutMs: bounds.idleTimeout,
    stallTimeoutMs: bounds.stallTimeout,
  };
}
