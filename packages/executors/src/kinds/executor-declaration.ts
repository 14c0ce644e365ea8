/**
 * `kind: executor`: an executor that an operator declares. The settings are those of its type. Secrets are references,
 * so that the declaration can be kept with other configuration.
 */
import { z } from "zod";
import type { ExecutorType } from "./executor-type.ts";

/** Names of executors that are not declared: that of this machine, and that of nodes that exist only in simulations. */
const RESERVED_NAMES: readonly string[] = ["local", "simulated"];

/** `run`: the executor runs work. `follow`: its nodes are shown, and nothing is placed on them. */
export const executorModes = ["run", "follow"] as const;
export type ExecutorMode = (typeof executorModes)[number];

export const executorDeclaration = z.strictObject({
  kind: z.literal("executor").meta({ description: "Kind of the document." }),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be at most 63 letters, digits, '.', '_' and '-'")
    .refine((name) => !RESERVED_NAMES.includes(name), { error: `must not be ${RESERVED_NAMES.join(" or ")}` })
    .meta({ description: "Name of the executor. Pools name their executor by it." }),
  type: z.string().min(1).max(63).meta({ description: "Type of the executor; see below." }),
  mode: z.enum(executorModes).default("run").meta({
    description: "`run`: the executor runs work. `follow`: its nodes are shown, and nothing is placed on them.",
  }),
  settings: z.record(z.string(), z.unknown()).default({}).meta({ description: "Settings of the type." }),
});

export type ExecutorDeclaration = z.output<typeof executorDeclaration>;

export interface DeclarationProblem {
  /** Steps to the field, such as `["settings", "nodes"]`. */
  readonly path: readonly string[];
  readonly message: string;
}

export type DeclarationReading =
  | { readonly ok: true; readonly declaration: ExecutorDeclaration; readonly type: ExecutorType }
  | { readonly ok: false; readonly problems: readonly DeclarationProblem[] };

/** Reads a declaration and never throws. */
export function readDeclaration(value: unknown, types: readonly ExecutorType[]): DeclarationReading {
  const outcome = executorDeclaration.safeParse(value);
  if (!outcome.success) return { ok: false, problems: outcome.error.issues.map((issue) => problemOf(issue, [])) };
  const declaration = outcome.data;
  const type = types.find(({ name }) => name === declaration.type);
  if (type === undefined) {
    const known = types.map(({ name }) => name).join(", ");
    const message = `There is no executor type ${declaration.type}. Types: ${known}`;
    return { ok: false, problems: [{ path: ["type"], message }] };
  }
  const settings = type.settings.safeParse(declaration.settings);
  const problems = [
    ...(settings.success ? [] : settings.error.issues.map((issue) => problemOf(issue, ["settings"]))),
    ...secretProblems(declaration.settings),
  ];
  return problems.length > 0 ? { ok: false, problems } : { ok: true, declaration, type };
}

function problemOf({ path, message }: z.core.$ZodIssue, above: readonly string[]): DeclarationProblem {
  return { path: [...above, ...path.map(String)], message };
}

const SECRET_NAME = /(?:token|password|secret|credential)$/i;
const SECRET_REFERENCE = /^(?:file:\/.+|env:[A-Za-z_][A-Za-z0-9_]*)$/;

/** A setting with the name of a secret must be a reference, whatever its type says. */
function secretProblems(settings: Readonly<Record<string, unknown>>): readonly DeclarationProblem[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (!SECRET_NAME.test(name)) return [];
    if (typeof value === "string" && SECRET_REFERENCE.test(value)) return [];
    const message = "must be a reference to the secret: file:/path or env:NAME. The secret itself does not belong here";
    return [{ path: ["settings", name], message }];
  });
}
