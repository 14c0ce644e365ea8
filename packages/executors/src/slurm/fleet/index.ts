export { clusterFleet, type ClusterFleet } from "./cluster-fleet.ts";
export { switchTree, type SwitchTree } from "./topology.ts";
