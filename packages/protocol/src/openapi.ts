/**
 * The OpenAPI 3.1 document. It is generated from the table of operations and its schemas; there is no second
 * description.
 */
import { z } from "zod";
import { names } from "@headroom/spec";
import { operationNames, operations, type Operation } from "./operations.ts";
import { bodyProblems, commonProblems } from "./operation-problems.ts";
import { problem, problemKinds, type ProblemCode } from "./problems.ts";
import { snapshotHeaders } from "./snapshot.ts";
import { USER_HEADER } from "./user.ts";

type Json = Readonly<Record<string, unknown>>;

/** Named schemas by name. A request's schema gets its own name if it differs from the answer's. */
class Components {
  readonly schemas = new Map<string, Json>();
  readonly #inputNames = new Map<string, string>();

  constructor(roots: readonly Operation[]) {
    const described = roots.filter(({ bytes }) => !bytes).map(({ response }) => response);
    const answers = definitionsOf([...described, problem], "output");
    const bodies = definitionsOf(
      roots.flatMap(({ body }) => (body === null ? [] : [body])),
      "input",
    );
    for (const [name, schema] of answers) this.schemas.set(name, schema);
    for (const name of differingNames(answers, bodies)) this.#inputNames.set(name, `${name}Input`);
    for (const [name, schema] of bodies) {
      this.schemas.set(this.inputName(name), renamed(schema, (target) => this.inputName(target)) as Json);
    }
  }

  inputName(name: string): string {
    return this.#inputNames.get(name) ?? name;
  }

  reference(schema: z.ZodType, io: "input" | "output"): Json {
    const name = schema.meta()?.id;
    if (name === undefined) throw new Error("schemas of requests and answers need a name");
    return { $ref: `#/components/schemas/${io === "input" ? this.inputName(name) : name}` };
  }
}

/** Names of schemas whose request form differs from the answer form, even if only in a reference. */
function differingNames(answers: ReadonlyMap<string, Json>, bodies: ReadonlyMap<string, Json>): ReadonlySet<string> {
  const differing = new Set<string>();
  for (let before = -1; before < differing.size;) {
    before = differing.size;
    for (const [name, schema] of bodies) {
      const answered = answers.get(name);
      if (answered === undefined) continue;
      const asInput = renamed(schema, (target) => (differing.has(target) ? `${target}Input` : target));
      if (JSON.stringify(asInput) !== JSON.stringify(answered)) differing.add(name);
    }
  }
  return differing;
}

function definitionsOf(schemas: readonly z.ZodType[], io: "input" | "output"): Map<string, Json> {
  const named = z.registry<{ id: string }>();
  collectNamed(schemas, named, new Set());
  const { schemas: converted } = z.toJSONSchema(named, {
    io,
    target: "draft-2020-12",
    uri: (id) => `#/components/schemas/${id}`,
    // Answers can get more fields, so a client generated from this document must accept unknown ones.
    override: ({ zodSchema, jsonSchema }) => {
      const isOpen = zodSchema instanceof z.ZodObject && !(zodSchema.def.catchall instanceof z.ZodNever);
      if (isOpen) delete jsonSchema.additionalProperties;
    },
  });
  return new Map(
    Object.entries(converted).map(([name, { $id: _id, $schema: _schema, id: _name, ...schema }]) => [name, schema]),
  );
}

type NamedSchema = z.core.$ZodRegistry<{ id: string }>;

function collectNamed(schemas: readonly z.core.$ZodType[], into: NamedSchema, seen: Set<z.core.$ZodType>): void {
  for (const schema of schemas) {
    if (seen.has(schema)) continue;
    seen.add(schema);
    const id = z.globalRegistry.get(schema)?.id;
    if (id !== undefined) into.add(schema, { ...z.globalRegistry.get(schema), id });
    collectNamed(childrenOf(schema), into, seen);
  }
}

/** The schemas directly inside a schema: every value of its definition that is a schema or contains some. */
function childrenOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const inside = (value: unknown): z.core.$ZodType[] => {
    if (value instanceof z.core.$ZodType) return [value];
    if (Array.isArray(value)) return value.flatMap(inside);
    if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
      return Object.values(value).flatMap(inside);
    }
    return [];
  };
  const definition = schema._zod.def as unknown as Json;
  return Object.entries(definition).flatMap(([key, value]) => (key === "checks" ? [] : inside(value)));
}

/** Copies JSON and changes where its references point. */
function renamed(value: unknown, nameOf: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, nameOf));
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const target = key === "$ref" && typeof inner === "string" ? /^#\/components\/schemas\/(.+)$/.exec(inner) : null;
    copy[key] = target?.[1] === undefined ? renamed(inner, nameOf) : `#/components/schemas/${nameOf(target[1])}`;
  }
  return copy;
}

const problemContent = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };

/** Several problems can have the same status, so the description names their codes. */
function problemResponses(operation: Operation): Json {
  const codes = [...operation.problems, ...commonProblems, ...(operation.body === null ? [] : bodyProblems)];
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set(codes)) {
    const { status } = problemKinds[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const described = [...byStatus].map(([status, group]) => {
    const description = group.map((code) => `\`${code}\`: ${problemKinds[code].title}.`).join(" ");
    return [String(status), { description, content: problemContent }] as const;
  });
  return Object.fromEntries(described);
}

function parameterSchema(schema: z.core.$ZodType): Json {
  const { $schema: _schema, pattern, ...rest } = z.toJSONSchema(schema, { io: "input" });
  // A number in a query arrives as text (`queryInteger`); its bounds are more informative than the pattern of that
  // text.
  return rest.type === "integer" || pattern === undefined ? rest : { ...rest, pattern };
}

function parameters(operation: Operation): Json[] {
  const list = (place: "path" | "query", shape: z.ZodRawShape): Json[] =>
    Object.entries(shape).map(([name, schema]) => ({
      name,
      in: place,
      required: place === "path",
      schema: parameterSchema(schema),
    }));
  const key = {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "A retry with the same key gets the first answer again.",
    schema: { type: "string", minLength: 1, maxLength: 128 },
  };
  const { $schema: _schema, ...userSchema } = z.toJSONSchema(names.userName);
  const user = {
    name: USER_HEADER,
    in: "header",
    required: false,
    description:
      "The user of the request, for clients with the token. Limits, shares and reservations of this user apply. If left out, the user is `token`. A browser acts as the user who requested its link.",
    schema: userSchema,
  };
  return [
    ...list("path", operation.params.shape),
    ...list("query", operation.query.shape),
    ...(operation.method === "GET" ? [] : [user, key]),
  ];
}

const bytesAnswer = {
  description: "Done.",
  headers: Object.fromEntries(
    Object.values(snapshotHeaders).map(({ name, description }) => [name, { description, schema: { type: "integer" } }]),
  ),
  content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
};

function answerOf(operation: Operation, components: Components): Json {
  if (operation.bytes) return bytesAnswer;
  const schema = components.reference(operation.response, "output");
  return operation.stream
    ? {
        description: "A stream, one item on each line.",
        content: { "application/x-ndjson": { schema }, "text/event-stream": { schema } },
      }
    : { description: "Done.", content: { "application/json": { schema } } };
}

function describe(operationId: string, operation: Operation, components: Components): Json {
  const requestBody =
    operation.body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: components.reference(operation.body, "input") } },
          },
        };
  return {
    operationId,
    tags: [operation.tag],
    summary: operation.summary,
    description: `Needs the permission \`${operation.permission}\`.`,
    "x-headroom-permission": operation.permission,
    parameters: parameters(operation),
    ...requestBody,
    responses: {
      [String(operation.status)]: answerOf(operation, components),
      ...problemResponses(operation),
    },
  };
}

/** The whole document, as plain JSON. */
export function openApiDocument(version: string): Json {
  const components = new Components(Object.values<Operation>(operations));
  const paths: Record<string, Record<string, Json>> = {};
  for (const name of operationNames) {
    const operation: Operation = operations[name];
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = describe(name, operation, components);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Headroom",
      version,
      description:
        "The control plane's API. Failures are application/problem+json (RFC 9457) with a stable `code`. Times are integers of milliseconds, memory is MiB, cores are thousandths.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: [...new Set(operationNames.map((name) => operations[name].tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries([...components.schemas].toSorted(([left], [right]) => (left < right ? -1 : 1))),
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
}
