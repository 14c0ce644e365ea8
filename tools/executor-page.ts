/** The reference page of executors: the fields of a declaration, and the settings of each type. */
import { executorDeclaration, executorTypes } from "@headroom/executors";
import { z } from "zod";

interface Property {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: string;
  readonly default?: string | number | boolean;
  readonly description?: string;
  readonly anyOf?: readonly Property[];
}

function valueOf({ type, enum: values, const: value, anyOf }: Property): string {
  if (value !== undefined) return `\`${String(value)}\``;
  if (values !== undefined) return values.map((each) => `\`${String(each)}\``).join(", ");
  if (anyOf !== undefined) return anyOf.map(valueOf).join(" or ");
  return type === "object"
    ? "mapping"
    : type === "integer"
      ? "whole number"
      : type === "string"
        ? "text"
        : (type ?? "");
}

function fieldRows(schema: z.ZodType): readonly string[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input" }) as {
    readonly properties?: Readonly<Record<string, Property>>;
    readonly required?: readonly string[];
  };
  const fallback = (name: string, { default: value }: Property): string => {
    if (required.includes(name)) return "required";
    return value === undefined || typeof value === "object" ? "none" : `\`${String(value)}\``;
  };
  return [
    "| field | value | default | meaning |",
    "|---|---|---|---|",
    ...Object.entries(properties).map(
      ([name, each]) => `| \`${name}\` | ${valueOf(each)} | ${fallback(name, each)} | ${each.description ?? ""} |`,
    ),
  ];
}

const example = `\`\`\`yaml
kind: executor
name: trial
type: local
settings:
  nodes: 2
  slots: 4
\`\`\``;

export function executorPage(): string {
  const sections = executorTypes.flatMap(({ name, summary, settings }) => [
    `## Type \`${name}\``,
    "",
    summary,
    "",
    ...fieldRows(settings),
    "",
  ]);
  return [
    "<!-- Generated from packages/executors by `npm run reference`. Do not edit. -->",
    "",
    "# Executors",
    "",
    "Each executor is one document in `executors.yaml` in the state directory of the control plane, which",
    "`headroom executor add` and `remove` write. See [add executors](../how-to/add-executors.md).",
    "",
    example,
    "",
    ...fieldRows(executorDeclaration),
    "",
    "A setting whose name ends in `Token`, `Password`, `Secret` or `Credential` is a reference: `file:/path` or `env:NAME`.",
    "",
    ...sections,
  ].join("\n");
}
