import type { Accelerator } from "./accelerator.ts";

/**
 * The same accelerator with a lower power limit. Dynamic power grows with frequency times voltage squared, and voltage
 * grows with frequency (Weste and Harris, CMOS VLSI Design, §5.2), so the clock is proportional to the cube root of the
 * limit. The clock of the memory does not change.
 */
export function powerLimited(accelerator: Accelerator, watts: number): Accelerator {
  const { powerWatts, denseTflops, bestMatmulTflops } = accelerator;
  if (powerWatts === undefined || watts >= powerWatts) return accelerator;
  const share = Math.cbrt(watts / powerWatts);
  return {
    ...accelerator,
    powerWatts: watts,
    denseTflops: scaled(denseTflops, share),
    ...(bestMatmulTflops === undefined ? {} : { bestMatmulTflops: scaled(bestMatmulTflops, share) }),
  };
}

type MatrixRates = Accelerator["denseTflops"];

function scaled(rates: MatrixRates, share: number): MatrixRates {
  return Object.fromEntries(Object.entries(rates).map(([format, rate]) => [format, rate * share]));
}
