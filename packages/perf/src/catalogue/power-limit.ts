import type { Accelerator } from "./accelerator.ts";

/**
 * The accelerator under a lower power limit. Dynamic power grows with frequency times voltage squared and voltage with
 * frequency (Weste and Harris, CMOS VLSI Design, §5.2), so clocks follow the cube root of the limit. Memory keeps its own clock.
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
