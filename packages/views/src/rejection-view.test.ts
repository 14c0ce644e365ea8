import { poolName } from "@headroom/model";
import { expect, it } from "vitest";
import { rejectionProblem } from "./rejection-view.ts";

const detailOf = (field: string): string =>
  JSON.stringify(rejectionProblem({ code: "poolInUse", pool: poolName("local"), field }));

it("says of a pool in use what each field waits for", () => {
  expect(detailOf("accelerator")).toContain(
    "The accelerator of pool local cannot change while it has nodes. Give the new pool another name.",
  );
  expect(detailOf("mig")).toContain(
    "The mig of pool local cannot change while MIG slices of its accelerators are in use or nominated. Let that work end, or stop it.",
  );
});
