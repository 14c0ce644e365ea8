/**
 * The interface for agents: tools of the Model Context Protocol, derived from the operations table. Agents read what their token reads,
 * and change nothing except by proposals, which another user decides. Nothing here decides about access: the control plane does.
 * Start with `agent-tools.ts` (which rows become tools), then `agent-server.ts` (calls and their bounds).
 */
export { serveStdio } from "./agent-server.ts";
