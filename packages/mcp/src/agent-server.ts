/** The server of the tools: checks arguments by the schemas of the table, bounds each call, and records it. */
import { ProblemError } from "@headroom/protocol";
import type { OperationCaller } from "@headroom/protocol";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { agentTools, OWN_FIELDS } from "./agent-tools.ts";
import type { AgentTool } from "./agent-tools.ts";
import { ANSWER_CHARS_MAX, ARGUMENT_CHARS_MAX, CallBounds, LISTED_DEFAULT } from "./call-bounds.ts";

/** A call as the record has it. */
export interface RecordedCall {
  readonly atMs: number;
  readonly agent: string;
  readonly tool: string;
  readonly outcome: "answered" | "refused";
  /** The reason of a refusal; empty: the call was answered. */
  readonly detail: string;
}

export interface AgentServerOptions {
  readonly call: OperationCaller;
  readonly version: string;
  readonly nowMs: () => number;
  record(call: RecordedCall): void;
}

const NAME_CHARS_MAX = 64;
/** Longest text of a caller in the record. */
const DETAIL_CHARS_MAX = 300;

export function createAgentServer(options: AgentServerOptions): Server {
  const { version, nowMs } = options;
  const instructions =
    "Headroom schedules AI work on a fleet. The tools read what your token may read. Changes are only proposed: createProposal simulates the effect, and another user decides.";
  const server = new Server({ name: "headroom", version }, { capabilities: { tools: {} }, instructions });
  const bounds = new CallBounds(nowMs);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: agentTools.map(toolOf) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }): Promise<CallToolResult> => {
    const agent = agentNameOf(server.getClientVersion());
    const refusal = bounds.begin();
    if (refusal !== null) return recorded(options, { agent, tool: params.name }, refused(refusal));
    try {
      const answer = await answerOf(options.call, { ...params, agent, signal });
      return recorded(options, { agent, tool: params.name }, answer);
    } finally {
      bounds.end();
    }
  });
  return server;
}

/** Serves one agent on stdin and stdout until it closes the connection. */
export async function serveStdio(options: AgentServerOptions): Promise<void> {
  const server = createAgentServer(options);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.onclose = resolve;
  process.stdin.once("end", () => void server.close());
  await server.connect(new StdioServerTransport());
  await promise;
}

const toolOf = ({ name, description, inputSchema, isReading }: AgentTool) => ({
  name,
  description,
  inputSchema: { ...inputSchema, type: "object" as const },
  annotations: { readOnlyHint: isReading, destructiveHint: false },
});

/** The name by which the agent introduces itself, reduced to the characters that the record has. */
function agentNameOf(client: { readonly name: string; readonly version: string } | undefined): string {
  const plain = `${client?.name ?? ""} ${client?.version ?? ""}`.replaceAll(/[^A-Za-z0-9 ._/@-]+/g, "-");
  const name = plain
    .replace(/^[^A-Za-z0-9]+/, "")
    .trim()
    .slice(0, NAME_CHARS_MAX)
    .trim();
  return name === "" ? "agent" : name;
}

interface ToolCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  readonly agent: string;
  readonly signal: AbortSignal;
}

async function answerOf(
  call: OperationCaller,
  { name, arguments: given = {}, agent, signal }: ToolCall,
): Promise<CallToolResult> {
  const tool = agentTools.find((each) => each.name === name);
  if (tool === undefined) return refused(`There is no tool ${shortened(name)}.`);
  if (JSON.stringify(given).length > ARGUMENT_CHARS_MAX)
    return refused(`The arguments have more than ${ARGUMENT_CHARS_MAX} characters. Send less.`);
  const request = requestOf(tool, given, agent);
  if (typeof request === "string") return refused(request);
  try {
    const text = JSON.stringify(await call(tool.operation, { ...request, signal }));
    if (text.length <= ANSWER_CHARS_MAX) return { content: [{ type: "text", text }] };
    return refused(
      `The answer has ${text.length} characters, and the limit is ${ANSWER_CHARS_MAX}. Ask for less: a smaller limit, or a filter.`,
    );
  } catch (error) {
    if (error instanceof ProblemError) return refused(`${error.code}: ${error.message}`);
    return refused(`The control plane did not answer: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type ToolRequest = Omit<Parameters<OperationCaller>[1], "signal">;

/** The request, checked by the schemas of its row; a text: the reason why it is refused. */
function requestOf(
  { operation, isReading }: AgentTool,
  given: Readonly<Record<string, unknown>>,
  agent: string,
): ToolRequest | string {
  const { params, query, body } = operation;
  const rest = new Map(Object.entries(given));
  const take = (fields: readonly string[]): Record<string, string> => {
    const taken: Record<string, string> = {};
    for (const field of fields) {
      const value = rest.get(field);
      rest.delete(field);
      if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
        taken[field] = String(value);
    }
    return taken;
  };
  const path = take(Object.keys(params.shape));
  // URLs resolve these segments even if they are encoded, so the call would reach another operation.
  const relative = Object.keys(path).find((field) => path[field] === "." || path[field] === "..");
  if (relative !== undefined) return `${relative}: must not be ${path[relative]}`;
  const ofQuery = take(Object.keys(query.shape));
  if (isReading && "limit" in query.shape) ofQuery["limit"] ??= String(LISTED_DEFAULT);
  for (const field of OWN_FIELDS) rest.delete(field);
  if (body === null && rest.size > 0) return `Unknown arguments: ${shortened([...rest.keys()].join(", "))}.`;
  const ofBody = { ...Object.fromEntries(rest), ...("agent" in shapeOf(body) ? { agent } : {}) };
  for (const [schema, value] of [
    [params, path],
    [query, ofQuery],
    ...(body === null ? [] : [[body, ofBody]]),
  ] as const) {
    const parsed = (schema as typeof params).safeParse(value);
    const [issue] = parsed.error?.issues ?? [];
    if (issue !== undefined) return shortened(`${issue.path.join(".")}: ${issue.message}`);
  }
  return { params: path, query: ofQuery, ...(body === null ? {} : { body: ofBody }) };
}

const shapeOf = (body: unknown): object => (body as { readonly shape?: object } | null)?.shape ?? {};

const refused = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true });

const shortened = (text: string): string =>
  text.length <= DETAIL_CHARS_MAX ? text : `${text.slice(0, DETAIL_CHARS_MAX)}…`;

function recorded(
  { record, nowMs }: Pick<AgentServerOptions, "record" | "nowMs">,
  { agent, tool }: Pick<RecordedCall, "agent" | "tool">,
  result: CallToolResult,
): CallToolResult {
  const [first] = result.content;
  const isRefused = result.isError === true;
  const detail = isRefused && first?.type === "text" ? shortened(first.text) : "";
  record({ atMs: nowMs(), agent, tool: shortened(tool), outcome: isRefused ? "refused" : "answered", detail });
  return result;
}
