import { isGuaranteed } from "../../policy/guaranteed.ts";
import type { Filter } from "./filter.ts";

/**
 * A policy that places every request by the fabric: in few domains, or by cells, guaranteed work in the cells of its team and all
 * other work elsewhere (`strategies/hived`).
 */
export const topologyPolicy: Filter = {
  name: "topologyPolicy",
  signature: ({ spec }, { rules }) => isGuaranteed(rules, spec) || undefined,
  basis: "work",
  appliesTo: ({ rules: { fabric, teams } }) =>
    fabric.choose === "cells" ||
    teams.reservedTopology !== undefined ||
    (fabric.choose === "fewest" && fabric.unconstrainedToFullest),
  wakeOn: ["opportunisticJobRelabelled"],
};
