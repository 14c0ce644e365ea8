import { isGuaranteed } from "../../policy/guaranteed.ts";
import type { Filter } from "./filter.ts";

/**
 * A policy that places every request by the fabric: in the fewest domains, or in cells, where guaranteed work uses the
 * cells of its team and all other work any other cells (`strategies/hived`).
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
