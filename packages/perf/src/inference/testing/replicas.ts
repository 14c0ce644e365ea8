import { findAccelerator } from "../../catalogue/accelerators.ts";
import type { Accelerator } from "../../catalogue/accelerator.ts";
import { findModel } from "../../catalogue/models.ts";
import type { ModelArchitecture } from "../../catalogue/model.ts";
import type { NumberFormat } from "../../catalogue/number-format.ts";
import { servingFormats } from "../quantization.ts";
import { buildReplica, currentEngine } from "../replica.ts";
import type { BuiltReplica, ServingLayout } from "../replica.ts";

export function accelerator(name: string): Accelerator {
  const found = findAccelerator(name);
  if (found === undefined) throw new Error(`no accelerator ${name}`);
  return found;
}

export function model(name: string): ModelArchitecture {
  const found = findModel(name);
  if (found === undefined) throw new Error(`no model ${name}`);
  return found;
}

export function layout(tensor: number, others: Partial<ServingLayout> = {}): ServingLayout {
  return { tensor, pipeline: 1, attentionData: 1, expert: 1, ...others };
}

/** A replica of presets from the catalogue, with the default options of current engines. */
export function replicaOf(
  modelName: string,
  acceleratorName: string,
  shape: ServingLayout,
  weights: NumberFormat = "bf16",
): BuiltReplica {
  return buildReplica({
    model: model(modelName),
    accelerator: accelerator(acceleratorName),
    formats: servingFormats(weights),
    layout: shape,
    engine: currentEngine,
  });
}
