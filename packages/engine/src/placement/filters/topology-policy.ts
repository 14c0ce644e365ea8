import { isGuaranteed } from "../../policy/guaranteed.ts";
import type { Filter } from "./filter.ts";

/**
 * Applies if the policy places every request by the fabric, in the fewest domains or in HiveD cells. In cells,
 * guaranteed work uses the cells of its team; other work uses any other cells (`strategies/hived`).
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
