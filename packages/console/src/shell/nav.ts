import type { IconName } from "../parts/icon.tsx";

export interface Place {
  readonly to:
    | "/"
    | "/queue"
    | "/workloads"
    | "/teams"
    | "/calendar"
    | "/policy"
    | "/what-if"
    | "/waste"
    | "/size"
    | "/plan"
    | "/cost"
    | "/offers"
    | "/proposals"
    | "/access"
    | "/artifacts"
    | "/pipelines"
    | "/health"
    | "/gateway"
    | "/endpoints"
    | "/logs"
    | "/events";
  readonly label: string;
  readonly icon: IconName;
  /** Key that the user presses after `g` to open the page. */
  readonly key: string;
}

const places: readonly Place[] = [
  { to: "/", label: "Fleet", icon: "fleet", key: "f" },
  { to: "/queue", label: "Queue", icon: "queue", key: "q" },
  { to: "/workloads", label: "Workloads", icon: "workloads", key: "w" },
  { to: "/endpoints", label: "Endpoints", icon: "gateway", key: "n" },
  { to: "/teams", label: "Teams", icon: "teams", key: "t" },
  { to: "/calendar", label: "Calendar", icon: "calendar", key: "c" },
  { to: "/policy", label: "Policy", icon: "policy", key: "p" },
  { to: "/what-if", label: "What if", icon: "whatIf", key: "i" },
  { to: "/waste", label: "Idle resources", icon: "waste", key: "u" },
  { to: "/size", label: "Size", icon: "size", key: "s" },
  { to: "/plan", label: "Plan", icon: "plan", key: "l" },
  { to: "/cost", label: "Cost", icon: "cost", key: "o" },
  { to: "/offers", label: "Offers", icon: "offers", key: "d" },
  { to: "/proposals", label: "Proposals", icon: "proposals", key: "r" },
  { to: "/artifacts", label: "Artifacts", icon: "artifacts", key: "m" },
  { to: "/pipelines", label: "Pipelines", icon: "pipelines", key: "b" },
  { to: "/health", label: "Health", icon: "health", key: "h" },
  { to: "/access", label: "Access", icon: "access", key: "x" },
  { to: "/logs", label: "Logs", icon: "search", key: "v" },
  { to: "/events", label: "Events", icon: "events", key: "e" },
];

/** Shown only if the control plane knows a gateway. */
const gatewayPlace: Place = { to: "/gateway", label: "Gateway", icon: "gateway", key: "a" };

export const allPlaces: readonly Place[] = [...places, gatewayPlace];

/** The pages of a control plane. */
export function placesOf({ hasGateway }: { readonly hasGateway: boolean }): readonly Place[] {
  return hasGateway ? allPlaces : places;
}
