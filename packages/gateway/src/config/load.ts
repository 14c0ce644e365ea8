/** Converts the text of gateway.yaml to a checked configuration. Every problem has its file, line and column. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Document, Node, Pair, YAMLParseError, YAMLWarning } from "yaml";
import { isLoopback, issueText } from "@headroom/platform";
import { rankOf } from "../fairness/priority.ts";
import { replicaIdOf } from "../replicas/replica.ts";
import { gatewaySchema, type GatewayConfig } from "./schema.ts";

export interface ConfigProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export type LoadedConfig =
  | {
      readonly config: GatewayConfig;
      /** A problem with the position of a field, for problems that are found only when the configuration is applied. */
      problemAt(path: Path, message: string): ConfigProblem;
    }
  | { readonly problems: readonly ConfigProblem[] };

/** Fields of the outermost object that the command line sets. */
export type ConfigOverrides = Readonly<Record<string, string | boolean>>;

export type Path = readonly (string | number)[];

interface FoundProblem {
  readonly path: Path;
  readonly message: string;
  readonly isAboutKey?: boolean;
}

/**
 * Maximum number of expansions of YAML aliases. Ordinary files need fewer; a "billion laughs" file multiplies by ten at
 * each of a dozen levels.
 */
const ALIAS_COUNT_MAX = 100;
const PROBLEMS_MAX = 50;

/**
 * `mayLackKeys`: keys exist, or will exist, elsewhere than in this text.
 */
export function loadConfig(
  text: string,
  overrides: ConfigOverrides = {},
  mayLackKeys: (config: GatewayConfig) => boolean = () => false,
): LoadedConfig {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: "1.2" });
  const placeAt = (offset: number): { readonly line: number; readonly column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0) {
    return {
      problems: broken.slice(0, PROBLEMS_MAX).map((each) => ({ ...placeAt(each.pos[0]), message: yamlMessage(each) })),
    };
  }
  const problemOf = ({ path, message, isAboutKey }: FoundProblem): ConfigProblem => ({
    ...placeAt(offsetOf(document, path, isAboutKey === true)),
    message: path.length === 0 ? message : `${pathText(path)} ${message}`,
  });
  const outcome = checkedData(document, overrides, mayLackKeys);
  if ("config" in outcome) return { ...outcome, problemAt: (path, message) => problemOf({ path, message }) };
  const problems = outcome.found.map(problemOf);
  return { problems: problems.toSorted((a, b) => a.line - b.line || a.column - b.column).slice(0, PROBLEMS_MAX) };
}

function yamlMessage({ code, message }: YAMLParseError | YAMLWarning): string {
  return code === "DUPLICATE_KEY" ? "the field is given twice" : `the file is not valid YAML: ${message}`;
}

function checkedData(
  document: Document.Parsed,
  overrides: ConfigOverrides,
  mayLackKeys: (config: GatewayConfig) => boolean,
): { readonly config: GatewayConfig } | { readonly found: readonly FoundProblem[] } {
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: ALIAS_COUNT_MAX });
  } catch (error) {
    return { found: [{ path: [], message: error instanceof Error ? error.message : "cannot be read" }] };
  }
  if (data === null) return { found: [{ path: [], message: "the file is empty; give at least `pools` and `models`" }] };
  if (Array.isArray(data) || typeof data !== "object")
    return { found: [{ path: [], message: "the file must have fields, such as `pools:` and `models:`" }] };
  const parsed = gatewaySchema.safeParse({ ...data, ...overrides }, { error: issueText });
  if (!parsed.success) return { found: parsed.error.issues.flatMap((issue) => problemsOf(issue)) };
  const found = [...crossProblems(parsed.data), ...keyProblems(parsed.data)];
  if (hasNoKey(parsed.data) && !mayLackKeys(parsed.data)) found.push(noKeyProblem);
  return found.length > 0 ? { found } : { config: parsed.data };
}

interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  readonly errors?: readonly (readonly Issue[])[];
  /** Problems of the key itself, for `invalid_key`. */
  readonly issues?: readonly Issue[];
}

function problemsOf(issue: Issue): readonly FoundProblem[] {
  const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
  if (issue.code === "unrecognized_keys") {
    return (issue.keys ?? []).map((key) => ({
      path: [...path, key],
      message: "is not a field of gateway.yaml",
      isAboutKey: true,
    }));
  }
  if (issue.code === "invalid_key")
    return [{ path, message: issue.issues?.[0]?.message ?? issue.message, isAboutKey: true }];
  if (issue.code === "invalid_union" && issue.errors !== undefined && issue.errors.length > 0) {
    // Number of levels to the deepest problem of an alternative. The alternative with the deepest problem is probably
    // the one that the author meant.
    const depth = (alternative: readonly Issue[]): number => Math.max(...alternative.map((each) => each.path.length));
    const best = issue.errors.toSorted((a, b) => depth(b) - depth(a))[0]!;
    if (depth(best) > 0) return best.flatMap((inner) => problemsOf({ ...inner, path: [...issue.path, ...inner.path] }));
    // Leaves out alternatives for another type of value, whose only problem is the type.
    const fitting = issue.errors.find((alternative) => alternative.every((each) => each.code !== "invalid_type"));
    const message = issue.message === "Invalid input" ? (fitting ?? best)[0]?.message : issue.message;
    return [{ path, message: message ?? issue.message }];
  }
  return [{ path, message: issue.message }];
}

/** Problems that concern several fields: names that are defined twice, and references to names that are not defined. */
function crossProblems(config: GatewayConfig): readonly FoundProblem[] {
  const found: FoundProblem[] = [];
  const pools = new Set(config.pools.map((pool) => pool.name));
  repeated(
    config.pools.map((pool, at) => [pool.name, ["pools", at, "name"]]),
    "names a pool twice",
    found,
  );
  repeated(
    config.teams.map((team, at) => [team.name, ["teams", at, "name"]]),
    "names a team twice",
    found,
  );
  repeated(
    config.teams.flatMap((team, at) =>
      team.keys.map((each, index): [string, Path] => [each.sha256, ["teams", at, "keys", index, "sha256"]]),
    ),
    "is the key of another entry",
    found,
  );
  for (const [at, pool] of config.pools.entries()) {
    repeated(
      pool.replicas.map((each, index): [string, Path] => [replicaIdOf(each), ["pools", at, "replicas", index]]),
      "is a replica of this pool twice; give each an `id` of its own",
      found,
    );
  }
  const models: [string, Path][] = [];
  for (const [at, model] of config.models.entries()) {
    models.push([model.name, ["models", at, "name"]]);
    for (const [index, alias] of model.aliases.entries()) models.push([alias, ["models", at, "aliases", index]]);
    for (const [index, route] of model.pools.entries()) {
      if (!pools.has(route.pool)) {
        found.push({
          path: ["models", at, "pools", index],
          message: `names the pool ${route.pool}, which is not defined`,
        });
      }
    }
  }
  repeated(models, "names a model twice", found);
  const known = new Set(config.models.map((model) => model.name));
  const aliased = new Map(config.models.flatMap((model) => model.aliases.map((alias) => [alias, model.name])));
  for (const [at, team] of config.teams.entries()) {
    for (const [index, each] of (team.models ?? []).entries()) {
      if (known.has(each)) continue;
      const model = aliased.get(each);
      const message =
        model === undefined
          ? `names the model ${each}, which is not defined`
          : `names ${each}, an alias: give the model's name, ${model}`;
      found.push({ path: ["teams", at, "models", index], message });
    }
  }
  found.push(...regionProblems(config));
  found.push(...sourceProblems(config));
  found.push(...overflowProblems(config));
  found.push(...coordinatorProblems(config));
  return found;
}

/** Each pool needs a source of replicas. */
function sourceProblems(config: GatewayConfig): readonly FoundProblem[] {
  const found: FoundProblem[] = [];
  for (const [at, pool] of config.pools.entries()) {
    if (pool.endpoint !== undefined && config.controlPlane === undefined)
      found.push({
        path: ["pools", at, "endpoint"],
        message: "needs controlPlane, which says where endpoints are listed",
      });
    if (pool.wake !== undefined && pool.wake.command === undefined && pool.endpoint === undefined)
      found.push({ path: ["pools", at, "wake", "command"], message: "is needed by a pool without an endpoint" });
    if (pool.replicas.length === 0 && pool.wake === undefined && pool.endpoint === undefined) {
      found.push({
        path: ["pools", at, "name"],
        message: "has neither replicas nor a wake command: give it one, or an endpoint",
      });
    }
  }
  return found;
}

/** Where requests may go, the operator states by `when: [overflow]` of a model. */
function overflowProblems({ pools, models, overflowTargets }: GatewayConfig): readonly FoundProblem[] {
  const found: FoundProblem[] = [];
  const sets = new Map(overflowTargets.map(({ name, pools: members }) => [name, members.map(({ pool }) => pool)]));
  const known = new Set(pools.map(({ name }) => name));
  for (const [at, { name, pools: members }] of overflowTargets.entries()) {
    if (known.has(name))
      found.push({ path: ["overflowTargets", at, "name"], message: `is the name of a pool: choose another one` });
    for (const [index, { pool }] of members.entries())
      if (!known.has(pool))
        found.push({
          path: ["overflowTargets", at, "pools", index, "pool"],
          message: `names the pool ${pool}, which is not defined`,
        });
  }
  repeated(
    overflowTargets.map(({ name }, at): [string, Path] => [name, ["overflowTargets", at, "name"]]),
    "names a set of targets twice",
    found,
  );
  const isTarget = (route: GatewayConfig["models"][number]["pools"][number]): boolean =>
    "when" in route && route.when?.includes("overflow") === true;
  for (const [at, model] of models.entries())
    if (model.pools.every((route) => isTarget(route) && "when" in route && route.when?.length === 1))
      found.push({ path: ["models", at, "pools"], message: "has only pools for overflow: add one that serves it" });
  for (const [at, { name, overflow }] of pools.entries()) {
    if (overflow === undefined) continue;
    const targets = sets.get(overflow.pool) ?? [overflow.pool];
    const isListed = models.some(
      (model) =>
        model.pools.some((route) => route.pool === name) &&
        model.pools.some((route) => targets.includes(route.pool) && isTarget(route)),
    );
    if (!isListed || targets.includes(name))
      found.push({
        path: ["pools", at, "overflow", "pool"],
        message: `names ${overflow.pool}, which no model of pool ${name} lists: add { pool: ${targets[0] ?? ""}, when: [overflow] } to its pools`,
      });
  }
  return found;
}

const noKeyProblem: FoundProblem = {
  path: ["access"],
  message:
    "asks for keys and no team has one; create one (headroom key create --config FILE TEAM/NAME) or set access: open",
};

function hasNoKey({ access, teams, controlPlane }: GatewayConfig): boolean {
  if (controlPlane?.accessTokens === true && teams.length > 0) return false;
  return access === "keys" && !teams.some(({ keys }) => keys.length > 0);
}

/** A key can narrow the models of its team, and lower its highest priority. */
function keyProblems({ teams, models }: GatewayConfig): readonly FoundProblem[] {
  const known = new Set(models.map(({ name }) => name));
  return teams.flatMap((team, at) =>
    team.keys.flatMap((key, index): FoundProblem[] => {
      const own: Path = ["teams", at, "keys", index];
      const isAbove = key.priorityMax !== undefined && rankOf(key.priorityMax) > rankOf(team.priorityMax);
      const message = `is above the team's priorityMax, ${team.priorityMax}: raise that first`;
      const models = (key.models ?? []).flatMap((model, place): FoundProblem[] => {
        const path = [...own, "models", place];
        if (!known.has(model)) return [{ path, message: `names the model ${model}, which is not defined` }];
        const isAllowed = team.models?.includes(model) !== false;
        return isAllowed ? [] : [{ path, message: `names ${model}, which the team's models do not have` }];
      });
      return isAbove ? [{ path: [...own, "priorityMax"], message }, ...models] : models;
    }),
  );
}

/** A key can narrow the regions of its team. A region without any replica is probably a spelling mistake. */
function regionProblems({ teams, pools }: GatewayConfig): readonly FoundProblem[] {
  const found: FoundProblem[] = [];
  const known = new Set<string | undefined>(
    pools.flatMap((pool) => [
      pool.region,
      ...pool.replicas.map((each) => ("region" in each ? each.region : undefined)),
    ]),
  );
  const check = (regions: readonly string[] | undefined, at: Path): void => {
    for (const [index, region] of (regions ?? []).entries()) {
      if (!known.has(region))
        found.push({ path: [...at, index], message: `names ${region}, a region of no pool and no replica` });
    }
  };
  for (const [at, team] of teams.entries()) {
    check(team.allowedRegions, ["teams", at, "allowedRegions"]);
    for (const [index, key] of team.keys.entries()) {
      const path = ["teams", at, "keys", index, "allowedRegions"];
      check(key.allowedRegions, path);
      for (const [place, region] of (key.allowedRegions ?? []).entries()) {
        if (team.allowedRegions?.includes(region) !== false) continue;
        found.push({ path: [...path, place], message: `names ${region}, which the team's allowedRegions do not have` });
      }
    }
  }
  return found;
}

/**
 * Every client that can reach the coordinator could use up a team's limits, so an address beyond this machine needs a
 * secret, and the operator's word that the network may see the amounts.
 */
function coordinatorProblems(config: GatewayConfig): readonly FoundProblem[] {
  const { coordinator, coordinatorSecret, coordinatorOverNetwork } = config;
  if (coordinator === undefined || isLoopback(coordinator.host)) return [];
  const missing = coordinatorSecret === undefined ? ["coordinatorSecret"] : [];
  if (!coordinatorOverNetwork) missing.push("coordinatorOverNetwork: true (its messages are not encrypted)");
  if (missing.length === 0) return [];
  return [{ path: ["coordinator"], message: `is not on this machine: also set ${missing.join(" and ")}` }];
}

function repeated(entries: readonly (readonly [string, Path])[], message: string, found: FoundProblem[]): void {
  const seen = new Set<string>();
  for (const [value, path] of entries) {
    if (seen.has(value)) found.push({ path, message });
    seen.add(value);
  }
}

function pathText(path: Path): string {
  return path.map((step, at) => (typeof step === "number" ? `[${step}]` : at === 0 ? step : `.${step}`)).join("");
}

/** Position of the value at `path`, or of its key; if neither exists, of the closest enclosing node. */
function offsetOf(document: Document.Parsed, path: Path, isAboutKey: boolean): number {
  let node: Node | null | undefined = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    if (isMap(node)) {
      const pair: Pair<Node, Node | null> | undefined = (node.items as Pair<Node, Node | null>[]).find(
        ({ key }) => isScalar(key) && String(key.value) === String(step),
      );
      if (pair === undefined) return offset;
      const isLast = index === path.length - 1;
      offset = (isLast && isAboutKey ? pair.key.range?.[0] : (pair.value?.range?.[0] ?? pair.key.range?.[0])) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === "number") {
      node = node.items[step] as Node | undefined;
      offset = node?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}
