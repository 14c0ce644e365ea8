import { importProblem } from "./import-problem.ts";
import { exactMath, layers, localeMethods } from "./layers.ts";

/** The part of oxlint's plugin interface that these rules use. It is a part of ESLint's interface. */
interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}
interface Context {
  readonly filename: string;
  report(problem: { readonly node: Node; readonly message: string }): void;
}
type Visitor = Readonly<Record<string, (node: Node) => void>>;

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function literalString(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  if (value.type === "Literal" && typeof value["value"] === "string") return value["value"];
  return value.type === "TSLiteralType" ? literalString(value["literal"]) : undefined;
}

function isTypeOnly(node: Node): boolean {
  if (node["importKind"] === "type" || node["exportKind"] === "type") return true;
  const specifiers = node["specifiers"];
  if (!Array.isArray(specifiers) || specifiers.length === 0) return false;
  return specifiers.every((each) => isNode(each) && (each["importKind"] === "type" || each["exportKind"] === "type"));
}

/** Every kind of import of a module: static, type-only, re-export, dynamic, type query, require, URL. */
const layerRule = {
  create(context: Context): Visitor {
    const judge = (node: Node, source: unknown, how: "static" | "type" | "dynamic"): void => {
      const specifier = literalString(source);
      const message = importProblem({ filename: context.filename, specifier, how });
      if (message !== undefined) context.report({ node, message });
    };
    const statically = (node: Node): void => {
      if (node["source"] != null) judge(node, node["source"], isTypeOnly(node) ? "type" : "static");
    };
    return {
      ImportDeclaration: statically,
      ExportAllDeclaration: statically,
      ExportNamedDeclaration: statically,
      ImportExpression: (node) => judge(node, node["source"], "dynamic"),
      TSImportType: (node) => judge(node, node["source"] ?? node["argument"], "type"),
      TSExternalModuleReference: (node) => judge(node, node["expression"], "static"),
      NewExpression: (node) => {
        const callee = node["callee"];
        const [target, base] = node["arguments"] as readonly unknown[];
        const isModuleUrl = isNode(callee) && callee["name"] === "URL" && isNode(base);
        const path = literalString(target);
        if (isModuleUrl && path?.startsWith(".") === true) judge(node, target, "dynamic");
      },
    };
  },
};

/** Rules that ensure the same result on every machine: no promises, no approximated arithmetic, no locale. */
const determinismRule = {
  create(context: Context): Visitor {
    const refuse = (node: Node, message: string): void => context.report({ node, message });
    const noAsync = (node: Node): void => {
      if (node["async"] === true) refuse(node, "This package is synchronous: no async functions.");
    };
    return {
      FunctionDeclaration: noAsync,
      FunctionExpression: noAsync,
      ArrowFunctionExpression: noAsync,
      AwaitExpression: (node) => refuse(node, "This package is synchronous: no await."),
      ForOfStatement: (node) => {
        if (node["await"] === true) refuse(node, "This package is synchronous: no for await.");
      },
      Identifier: (node) => {
        const isUse = node["name"] === "Promise" && !isPropertyName(node, node["parent"]);
        if (isUse) refuse(node, "This package is synchronous: no promises.");
      },
      BinaryExpression: (node) => judgePower(node, refuse),
      AssignmentExpression: (node) => judgePower(node, refuse),
    };
  },
};

function judgePower(node: Node, refuse: (node: Node, message: string) => void): void {
  const { operator, left, right } = node;
  if (operator !== "**" && operator !== "**=") return;
  const isConstant = [left, right].every((side) => isNode(side) && side.type === "Literal");
  if (!isConstant) refuse(node, "The bits of ** differ between JavaScript engines: multiply instead.");
}

/** Forbids randomness, approximated arithmetic and locale, and aliases that hide one of these. */
const exactnessRule = {
  create(context: Context): Visitor {
    const isDeterministic = packageOf(context.filename)?.purity === "deterministic";
    return {
      Identifier: (node) => {
        if (node["name"] !== "Math") return;
        const parent = node["parent"];
        const isMember = isNode(parent) && parent.type === "MemberExpression" && parent["object"] === node;
        if (!isMember) {
          if (!isPropertyName(node, parent)) context.report({ node, message: "Use Math only as Math.name." });
          return;
        }
        const property = parent["property"];
        const name = parent["computed"] !== true && isNode(property) ? String(property["name"]) : "[…]";
        const isFine = exactMath.includes(name) || (!isDeterministic && name !== "random" && name !== "[…]");
        if (!isFine) context.report({ node, message: `Math.${name} is random or differs between JavaScript engines.` });
      },
      MemberExpression: (node) => {
        const property = node["property"];
        const name = isNode(property) ? (property["name"] ?? property["value"]) : undefined;
        if (typeof name !== "string" || !localeMethods.includes(name)) return;
        context.report({ node, message: `${name} depends on the machine's locale data: compare code units instead.` });
      },
    };
  },
};

function isPropertyName(node: Node, parent: unknown): boolean {
  if (!isNode(parent)) return false;
  const isKey = parent["key"] === node || parent["property"] === node;
  return isKey && parent["computed"] !== true && parent["shorthand"] !== true;
}

function packageOf(filename: string): (typeof layers)[string] | undefined {
  const name = /(?:^|\/)packages\/([^/]+)\//.exec(filename)?.[1];
  return name === undefined ? undefined : layers[name];
}

const plugin = {
  meta: { name: "house" },
  rules: { layers: layerRule, determinism: determinismRule, exactness: exactnessRule },
};

export default plugin;
