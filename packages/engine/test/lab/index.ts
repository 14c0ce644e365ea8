/** The builders and the driver of the engine's tests, for the tests of other packages: `@headroom/engine/testing`. */
export * from "./make.ts";
export { Drive } from "./drive.ts";
export { Dice } from "./dice.ts";
