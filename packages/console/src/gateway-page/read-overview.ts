/** Reads the gateway's overview from the address that served this page. */
import { gatewayOverview } from "@headroom/protocol";
import type { GatewayOverview } from "@headroom/protocol";

export type OverviewRead =
  | { readonly kind: "read"; readonly overview: GatewayOverview }
  | { readonly kind: "refused" }
  | { readonly kind: "failed"; readonly message: string };

export async function readOverview(token: string, signal: AbortSignal): Promise<OverviewRead> {
  let response: Response;
  let body: unknown;
  try {
    response = await fetch("/v1/overview", { headers: { authorization: `Bearer ${token}` }, signal });
    body = await response.json();
  } catch {
    return { kind: "failed", message: "The gateway does not answer. The figures below are those of its last answer." };
  }
  if (response.status === 401) return { kind: "refused" };
  const parsed = gatewayOverview.safeParse(body);
  if (parsed.success) return { kind: "read", overview: parsed.data };
  return { kind: "failed", message: `The gateway answered ${response.status}. Reload the page if it was upgraded.` };
}
