import { exitCode } from "../cli-error.ts";
import { defineCommand } from "../command.ts";

export const mcpCommand = defineCommand({
  name: "mcp",
  summary: "Serve an agent over the Model Context Protocol: it reads, and proposes changes",
  details: `An agent's configuration starts the command and speaks to it over stdin and stdout. The agent has the rights
of the token in HEADROOM_TOKEN. Each call is written to stderr with the agent's name.

Example:
  HEADROOM_URL=http://10.0.0.5:7070 HEADROOM_TOKEN=hr_… headroom mcp`,
  async run(context) {
    const { serveStdio } = await import("@headroom/mcp");
    const { version } = await import("../version.ts");
    await serveStdio({
      call: await context.connectOperations(),
      version: version(),
      nowMs: () => Date.now(),
      record: (call) =>
        context.note(JSON.stringify({ ...call, atMs: undefined, at: new Date(call.atMs).toISOString() })),
    });
    return exitCode.ok;
  },
});
