/**
 * MLflow's filter and order language as SQL (mlflow/utils/search_utils.py): comparisons joined by AND. Names and values become bound
 * parameters; only the expressions of a `FilterTarget` become SQL text.
 */
import { quoted } from "./fields.ts";
import { invalid } from "./mlflow-error.ts";

export interface Expression {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
  readonly kind: "text" | "number";
  /** For one of several values: the query of its rows, which ends in WHERE. The comparison holds if it does for any of them. */
  readonly anyOf?: string;
}

/** The expression for an identifier such as `metrics.loss`; `null`: it cannot be searched. */
export type FilterTarget = (entity: string, key: string) => Expression | null;

/** Columns that a search can name: their SQL and the kind of their values. */
export type Columns = Readonly<Record<string, readonly [sql: string, kind: "text" | "number"]>>;

/** The expression for an attribute; `null`: there is no such column. */
export function attribute(columns: Columns, entity: string, key: string): Expression | null {
  const column = /^attr(?:ibutes?)?$/.test(entity) && Object.hasOwn(columns, key) ? columns[key] : undefined;
  return column === undefined ? null : { sql: column[0], parameters: [], kind: column[1] };
}

export interface Condition {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
}

const FILTER_CHARS_MAX = 10_000;
const CLAUSES_MAX = 50;
const token =
  /\s*(?:(?<text>'(?:[^']|'')*'|"[^"]*"|`[^`]*`)|(?<number>-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w.])|(?<word>[A-Za-z_][\w/-]*)|(?<sign>!=|>=|<=|[=<>(),.]))/y;

interface Token {
  readonly kind: "text" | "number" | "word" | "sign";
  readonly value: string;
}

function tokensOf(text: string): readonly Token[] {
  if (text.length > FILTER_CHARS_MAX) throw invalid(`The filter has more than ${FILTER_CHARS_MAX} characters.`);
  const tokens: Token[] = [];
  token.lastIndex = 0;
  const trimmed = text.trimEnd();
  while (token.lastIndex < trimmed.length) {
    const at = token.lastIndex;
    const groups = token.exec(trimmed)?.groups;
    const found = Object.entries(groups ?? {}).find(([, value]) => value !== undefined);
    if (found === undefined) throw invalid(`Invalid filter at ${JSON.stringify(trimmed.slice(at, at + 20))}.`);
    tokens.push({ kind: found[0] as Token["kind"], value: found[1] });
  }
  return tokens;
}

const unquoted = ({ kind, value }: Token): string =>
  kind !== "text" ? value : value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'") : value.slice(1, -1);

class FilterReader {
  readonly #tokens: readonly Token[];
  readonly #target: FilterTarget;
  #at = 0;

  constructor(text: string, target: FilterTarget) {
    this.#tokens = tokensOf(text);
    this.#target = target;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  next(expected: string): Token {
    const found = this.#tokens[this.#at];
    if (found === undefined) throw invalid(`Invalid filter: expected ${expected} at its end.`);
    this.#at += 1;
    return found;
  }

  takes(word: string): boolean {
    const found = this.#tokens[this.#at];
    if (found === undefined || found.kind === "text" || found.value.toUpperCase() !== word) return false;
    this.#at += 1;
    return true;
  }

  identifier(): Expression {
    const names = [unquoted(this.next("a name"))];
    while (this.takes(".")) names.push(unquoted(this.next("a name")));
    const [first = "", ...rest] = names;
    const [entity, key] = rest.length === 0 ? ["attribute", first] : [first.toLowerCase(), rest.join(".")];
    const found = this.#target(entity, key);
    if (found === null)
      throw invalid(`The filter or order names ${quoted(names.join("."))}, which cannot be searched.`);
    return found;
  }

  value({ kind }: Expression): string | number {
    const found = this.next("a value");
    if (kind === "number") {
      // Python writes `.5` for 0.5.
      const isFraction = found.kind === "sign" && found.value === ".";
      const number = Number(isFraction ? `.${this.next("a number").value}` : unquoted(found));
      if (found.kind === "word" || Number.isNaN(number))
        throw invalid(`Expected a number in the filter, got ${quoted(found.value)}.`);
      return number;
    }
    if (found.kind !== "text" || found.value.startsWith("`"))
      throw invalid(`Expected a quoted string in the filter, got ${quoted(found.value)}.`);
    return unquoted(found);
  }

  condition(): Condition {
    const left = this.identifier();
    const { sql, parameters } = this.#comparison(left);
    return left.anyOf === undefined ? { sql, parameters } : { sql: `EXISTS (${left.anyOf} ${sql})`, parameters };
  }

  #comparison(left: Expression): Condition {
    const isNegated = this.takes("NOT");
    if (this.takes("IN")) return this.#list(left, isNegated);
    if (isNegated) throw invalid("Invalid filter: expected IN after NOT.");
    if (this.takes("IS")) {
      const not = this.takes("NOT") ? " NOT" : "";
      if (!this.takes("NULL")) throw invalid("Invalid filter: expected NULL after IS.");
      return { sql: `(${left.sql}) IS${not} NULL`, parameters: left.parameters };
    }
    const comparator = this.next("a comparator").value.toUpperCase();
    const isLike = comparator === "LIKE" || comparator === "ILIKE";
    const allowed = left.kind === "text" ? ["=", "!=", "LIKE", "ILIKE"] : ["=", "!=", "<", "<=", ">", ">="];
    if (!allowed.includes(comparator)) throw invalid(`Invalid comparator ${quoted(comparator)} in the filter.`);
    const parameters = [...left.parameters, this.value(left)];
    if (comparator === "ILIKE") return { sql: `lower((${left.sql})) LIKE lower(?)`, parameters };
    return { sql: isLike ? `(${left.sql}) LIKE ?` : `(${left.sql}) ${comparator} ?`, parameters };
  }

  #list(left: Expression, isNegated: boolean): Condition {
    if (!this.takes("(")) throw invalid("Invalid filter: expected a list after IN.");
    const values = [this.value(left)];
    while (this.takes(",")) values.push(this.value(left));
    if (!this.takes(")")) throw invalid("Invalid filter: the list does not end.");
    const marks = values.map(() => "?").join(", ");
    return {
      sql: `(${left.sql}) ${isNegated ? "NOT IN" : "IN"} (${marks})`,
      parameters: [...left.parameters, ...values],
    };
  }
}

/** Conditions that all hold; `TRUE` for an empty filter. */
export function filterSql(text: string | undefined, target: FilterTarget): Condition {
  if (text === undefined || text.trim() === "") return { sql: "TRUE", parameters: [] };
  const reader = new FilterReader(text, target);
  const conditions = [reader.condition()];
  while (!reader.isAtEnd) {
    if (!reader.takes("AND")) throw invalid("Invalid filter: expected AND between comparisons.");
    conditions.push(reader.condition());
    if (conditions.length > CLAUSES_MAX) throw invalid(`The filter has more than ${CLAUSES_MAX} comparisons.`);
  }
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(" AND "),
    parameters: conditions.flatMap(({ parameters }) => parameters),
  };
}

/** Items without a value come last, in both directions. */
export function orderSql(texts: readonly string[], target: FilterTarget, last: string): Condition {
  const parts = texts.map((text) => {
    const reader = new FilterReader(text, target);
    const expression = reader.identifier();
    if (expression.anyOf !== undefined) throw invalid(`Invalid order ${quoted(text)}: a run has several data sets.`);
    const direction = reader.takes("DESC") ? "DESC" : "ASC";
    if (direction === "ASC") reader.takes("ASC");
    if (!reader.isAtEnd) throw invalid(`Invalid order ${quoted(text)}: expected a name, and ASC or DESC.`);
    return { sql: `(${expression.sql}) ${direction} NULLS LAST`, parameters: expression.parameters };
  });
  return {
    sql: [...parts.map(({ sql }) => sql), last].join(", "),
    parameters: parts.flatMap(({ parameters }) => parameters),
  };
}
