/**
 * Inference: performance of an endpoint on given accelerators. The model is a roofline of one engine step
 * (`forward.ts`). Batching and queueing are added to it (`batching.ts`, `disaggregation.ts`, `queueing.ts`). It may use
 * only datasheets, architectures, formulas and the constants of `constants-inference.ts`. Start with `serve.ts` (one
 * replica) and `endpoint.ts` (number of replicas and cost).
 */
export * from "./abstention.ts";
export * from "./batching.ts";
export * from "./calibrated.ts";
export * from "./cold-start.ts";
export * from "./disaggregated-endpoint.ts";
export * from "./disaggregation.ts";
export * from "./endpoint.ts";
export * from "./evidence.ts";
export * from "./feasibility.ts";
export * from "./forward.ts";
export * from "./interval.ts";
export * from "./kv-cache.ts";
export { measuredServing } from "./measured-serving.ts";
export * from "./quantization.ts";
export * from "./queueing.ts";
export * from "./replica.ts";
export * from "./serve.ts";
export * from "./served-shape.ts";
