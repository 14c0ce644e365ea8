const DEFAULT_TEAM = "default";

/** `TEAM/NAME` of an endpoint of the control plane. A name without a team means the team `default`. */
export const endpointFullName = (endpoint: string): string =>
  endpoint.includes("/") ? endpoint : `${DEFAULT_TEAM}/${endpoint}`;
