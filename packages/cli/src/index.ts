/**
 * The command line `headroom`. Commands are data and a `run` (command.ts, commands/) and write to a `Terminal`, so that
 * tests run them in their own process. The CLI talks to a control plane only through `HeadroomClient`, and imports
 * engine, simulator, executors and server only inside the commands that need them.
 */
export { runCli } from "./program.ts";
export type { Sink, Terminal } from "./terminal.ts";
