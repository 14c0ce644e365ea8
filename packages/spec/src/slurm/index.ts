/** Batch scripts of Slurm. The room is exported on its own (`@headroom/spec/slurm`), so that other commands do not load it. */
export type { LocalClock, LocalTime } from "./begin-times.ts";
export { readSbatchScript, type HonouredDirective, type IgnoredDirective, type SbatchReading } from "./read-script.ts";
export { arrayLines } from "./job-command.ts";
export { readArray } from "./slurm-values.ts";
export { hasDirectives } from "./script-text.ts";
export { slurmOptions, type SlurmOption } from "./options.ts";
