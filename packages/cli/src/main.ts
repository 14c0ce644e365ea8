/** The entry point of `headroom`: runs `runCli` in a process. */
// Before all other modules, so that the compile cache covers them.
import "../bin/compile-cache.mjs";

const { runCli } = await import("./program.ts");
const { processTerminal } = await import("./process-terminal.ts");

process.exitCode = await runCli(process.argv.slice(2), processTerminal());
