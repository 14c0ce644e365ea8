/** The entry point of `headroom`: runs `runCli` in a process. */
import { enableCompileCache } from "node:module";

// This import comes first, so that the compile cache covers all other modules.
enableCompileCache();
const { runCli } = await import("./program.ts");
const { processTerminal } = await import("./process-terminal.ts");

process.exitCode = await runCli(process.argv.slice(2), processTerminal());
