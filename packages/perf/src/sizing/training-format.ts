/**
 * Chooses the number format of the linear layers if a training question leaves it open, and gives warnings about the
 * format.
 */
import type { Accelerator } from "../catalogue/accelerator.ts";
import { matrixClassOf, type NumberFormat } from "../catalogue/number-format.ts";
import { trainingFormat } from "../catalogue/recipes.ts";
import type { SoftwareStack } from "../training/job.ts";
import { executedClass } from "../training/rates.ts";
import type { TrainingSizing } from "./training-setting.ts";

export interface FormatChoice {
  readonly linear: NumberFormat;
  /**
   * The reason for a chosen format. `undefined` if the question stated the format, or if the format is bf16 as for most
   * models.
   */
  readonly reason: string | undefined;
  readonly warnings: readonly string[];
}

/**
 * The format that the question states. If it states none: the format in which the model was trained, or else the
 * accelerator's 16-bit format.
 */
export function chosenFormat(
  { format, model, method }: Pick<TrainingSizing, "format" | "model" | "method">,
  accelerator: Accelerator,
  stack: SoftwareStack,
): FormatChoice {
  if (format !== undefined) return { linear: format, reason: undefined, warnings: statedWarnings(format, accelerator) };
  const { name, halfFormat: half = "bf16" } = accelerator;
  const usual: FormatChoice = {
    linear: half,
    reason: undefined,
    warnings: half === "bf16" ? [] : [`${name} has no bf16 units: ${half} is chosen`],
  };
  // Adapters are trained in 16 bits, beside frozen weights.
  const native = method.kind === "full" ? trainingFormat(model) : undefined;
  if (native === undefined) return usual;
  const trained = `${native.format}, in which the model was trained (${native.source})`;
  if (executedClass(accelerator, matrixClassOf(native.format)) !== matrixClassOf(native.format)) {
    return {
      ...usual,
      reason: `${half}, not ${trained}`,
      warnings: [`${name} has no ${native.format} units: ${half} is chosen instead of ${trained}`],
    };
  }
  // The launch command of torchtitan cannot state a format of 8 bits or fewer.
  if (stack === "eager") {
    return {
      ...usual,
      reason: `${half}, not ${trained}`,
      warnings: [...usual.warnings, `the eager stack trains in 16 bits: ${half} is chosen instead of ${trained}`],
    };
  }
  return { linear: native.format, reason: trained, warnings: [] };
}

/**
 * Warnings about a stated format that the accelerator's matrix units do not have. The prediction then uses the rate of
 * another format.
 */
function statedWarnings(format: NumberFormat, accelerator: Accelerator): readonly string[] {
  const { name, halfFormat = "bf16" } = accelerator;
  if (format === "bf16" && halfFormat !== "bf16") {
    return [`${name} has no bf16 units: bf16 is counted at its ${halfFormat} rate, which bf16 does not reach there`];
  }
  const wanted = matrixClassOf(format);
  const executed = executedClass(accelerator, wanted);
  if (executed === wanted || wanted === "fp32") return [];
  const rate = executed === "bf16" ? halfFormat : executed;
  return [`${name} has no ${wanted} units: ${format} is counted at its ${rate} rate`];
}
