/**
 * Inference: what an endpoint does on given accelerators. The model is a roofline of one engine step (`forward.ts`) and
 * what batching makes of it (`batching.ts`, `disaggregation.ts`). It must not look at anything but datasheets,
 * architectures, formulas and the constants of `constants-inference.ts`. Start with `forward.ts`.
 */
export * from "./batching.ts";
export * from "./disaggregation.ts";
export * from "./forward.ts";
export * from "./kv-cache.ts";
export * from "./quantization.ts";
export * from "./replica.ts";
export * from "./served-shape.ts";
