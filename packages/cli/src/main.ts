/** The entry of `headroom`: the process around `runCli`. */
import { enableCompileCache } from "node:module";

// Before everything else is loaded, so that it is kept stripped of types and compiled from one start to the next.
enableCompileCache();
const { runCli } = await import("./program.ts");
const { processTerminal } = await import("./process-terminal.ts");

process.exitCode = await runCli(process.argv.slice(2), processTerminal());
