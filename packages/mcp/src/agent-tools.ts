/** Rows of the operations table as tools: all reads with one plain answer, and the three commands of a proposer. */
import { operations } from "@headroom/protocol";
import type { Operation, Permission } from "@headroom/protocol";
import { z } from "zod";

export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly operation: Operation;
  /** Whether a call only reads. */
  readonly isReading: boolean;
  /** The arguments: parameters of the path, of the query and of the body side by side. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** Permissions whose reads agents get. Other permissions stay closed: tokens, sessions, commands in workers. */
const readable: ReadonlySet<Permission> = new Set<Permission>([
  "calendar.read",
  "fleet.read",
  "gateway.read",
  "plan.read",
  "policy.read",
  "proposals.read",
  "status.read",
  "teams.read",
  "workloads.read",
]);

/** The only operations that change anything. Decisions are not among them. */
const proposing: ReadonlySet<string> = new Set(["createProposal", "simulateProposal", "withdrawProposal"]);

/** Fields of a body that the server of the tools fills in itself. */
export const OWN_FIELDS: ReadonlySet<string> = new Set(["agent"]);

const isReadingRow = ({ method, permission, stream, bytes }: Operation): boolean =>
  method === "GET" && readable.has(permission) && !stream && !bytes;

export const agentTools: readonly AgentTool[] = Object.entries<Operation>(operations).flatMap(([name, operation]) => {
  const isReading = isReadingRow(operation);
  if (!isReading && !proposing.has(name)) return [];
  const { summary } = operation;
  const inputSchema = inputSchemaOf(operation);
  return [
    { name, description: isReading ? summary : `${summary}. Another user decides.`, operation, isReading, inputSchema },
  ];
});

function inputSchemaOf({ params, query, body }: Operation): AgentTool["inputSchema"] {
  const ofBody = body instanceof z.ZodObject ? body.shape : {};
  const own = Object.fromEntries(Object.entries(ofBody).filter(([field]) => !OWN_FIELDS.has(field)));
  const { $schema: _dialect, ...schema } = z.toJSONSchema(z.strictObject({ ...params.shape, ...query.shape, ...own }), {
    io: "input",
    unrepresentable: "any",
  });
  return schema;
}
