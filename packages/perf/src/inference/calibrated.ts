import type { Accelerator } from "../catalogue/accelerator.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import type { MatrixClass } from "../catalogue/number-format.ts";

/**
 * Typical results of the calibration tests, for accelerators without a measurement: the copy test as on an H200, and
 * the NCCL test on NVLink.
 */
const usualMemoryEfficiency = 0.885;
const usualScaleUpEfficiency = 0.8;

/**
 * The accelerator with measured figures in place of the datasheet's. Measured matrix products replace the best
 * published ones. A bandwidth is multiplied by the measured result divided by the typical result of the same test,
 * because the model's own losses are relative to the typical result.
 */
export function calibratedAccelerator(accelerator: Accelerator, calibration: AcceleratorCalibration): Accelerator {
  const measured = Object.entries(calibration.matmulEfficiency) as [MatrixClass, number][];
  const best = measured.map(([name, share]) => [name, share * (accelerator.denseTflops[name] ?? 0)] as const);
  const memory = (calibration.memoryEfficiency ?? usualMemoryEfficiency) / usualMemoryEfficiency;
  const link = (calibration.scaleUpEfficiency ?? usualScaleUpEfficiency) / usualScaleUpEfficiency;
  return {
    ...accelerator,
    bestMatmulTflops: { ...accelerator.bestMatmulTflops, ...Object.fromEntries(best.filter(([, rate]) => rate > 0)) },
    memoryGbPerS: accelerator.memoryGbPerS * memory,
    scaleUp: { ...accelerator.scaleUp, gbPerS: accelerator.scaleUp.gbPerS * link },
  };
}
