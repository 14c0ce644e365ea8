/**
 * The command line `headroom`. A command is data and a `run` function (command.ts, commands/). Commands write to a
 * `Terminal`, so that tests run them in their own process. The CLI talks to a control plane only through
 * `HeadroomClient`, and imports engine, simulator, executors and server only inside the commands that need them.
 */
export { runCli } from "./program.ts";
export type { Sink, Terminal } from "./terminal.ts";
