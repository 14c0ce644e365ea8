/**
 * How the plain tables of the state are copied, hashed and stored. A further table has its type in `state.ts`, a row
 * here, and a reason for its snapshot format in `snapshot-format.ts`; empty state, copy, digest and snapshot follow.
 */
import { isRunOpen } from "@headroom/model";
import { restoreRun, storeRun } from "./stored.ts";
import type { PlainTables } from "./mutable-state.ts";

interface TableForm<Key, Entity> {
  /** Key of an entity that contains it: the table is stored as a list of entities. Absent: as a list of entries. */
  readonly keyOf?: (entity: Entity) => Key;
  /** True: hashed and stored even if it is empty. Others are left out, so that they change nothing of states without them. */
  readonly isAlwaysPresent?: true;
  /** `inOrder`: the order of the entries counts. `keys`: an entity never changes, so its key represents it. */
  readonly digest?: "inOrder" | "keys";
  /** Stored form of an entity that has maps. */
  readonly store?: (entity: Entity) => unknown;
  readonly restore?: (stored: never) => Entity;
  /** Copy of an entity that is modified in place. Others are replaced, so that copies of the state share them. */
  readonly copy?: (entity: Entity) => Entity;
  /** True: a copy of the state begins without entries. */
  readonly isLeftOutOfCopies?: true;
}

type TableForms = {
  readonly [Name in keyof PlainTables]: PlainTables[Name] extends Map<infer Key, infer Entity>
    ? TableForm<Key, Entity>
    : never;
};

/** In the order in which snapshots store them. */
const tableForms: TableForms = {
  sites: { keyOf: ({ name }) => name, isAlwaysPresent: true },
  executors: { keyOf: ({ id }) => id },
  executorStates: { keyOf: ({ executor }) => executor },
  pools: { keyOf: ({ name }) => name, isAlwaysPresent: true },
  poolRemovals: {},
  siteRemovals: {},
  capacityOrders: { keyOf: ({ name }) => name },
  burstAccounts: {},
  proposals: { keyOf: ({ id }) => id },
  proposalRules: { keyOf: ({ kind }) => kind },
  stores: { keyOf: ({ name }) => name },
  importedHistories: { keyOf: ({ executor }) => executor },
  teams: { keyOf: ({ name }) => name, isAlwaysPresent: true },
  nominations: { keyOf: ({ attemptId }) => attemptId },
  accounts: {},
  migrated: {},
  decayedUsage: {},
  runTimes: { digest: "inOrder" },
  schedules: { keyOf: ({ schedule }) => schedule.name },
  pipelines: { keyOf: ({ pipeline }) => pipeline.name },
  pipelineRuns: {
    keyOf: ({ id }) => id,
    store: storeRun,
    restore: restoreRun,
    copy: (run) => (isRunOpen(run) ? { ...run, steps: new Map(run.steps) } : run),
  },
  cachedSteps: { digest: "inOrder" },
  calendar: { keyOf: ({ entry }) => entry.name },
  endedEntries: { digest: "inOrder" },
  answers: { digest: "keys", isAlwaysPresent: true, isLeftOutOfCopies: true },
};

type AnyTable = ReadonlyMap<unknown, unknown>;
type AnyForm = TableForm<unknown, unknown>;
const forms = Object.entries(tableForms) as unknown as readonly (readonly [keyof PlainTables, AnyForm])[];
const tableIn = (tables: PlainTables, name: keyof PlainTables): AnyTable => tables[name];

const tablesOf = (table: (name: keyof PlainTables, form: AnyForm) => AnyTable): PlainTables =>
  Object.fromEntries(forms.map(([name, form]) => [name, table(name, form)])) as unknown as PlainTables;

export const emptyTables = (): PlainTables => tablesOf(() => new Map());

export const copiedTables = (tables: PlainTables): PlainTables =>
  tablesOf((name, { copy, isLeftOutOfCopies }) => {
    if (isLeftOutOfCopies === true) return new Map();
    const entries = tableIn(tables, name);
    return copy === undefined ? new Map(entries) : new Map(Array.from(entries, ([key, own]) => [key, copy(own)]));
  });

/** The part of the tables that a digest hashes, by name. `hashed` shortens a list of keys. */
export function digestedTables(tables: PlainTables, hashed: (keys: readonly unknown[]) => unknown): object {
  return fieldsOf(tables, (table, { digest }) => {
    if (digest === "keys") return hashed([...table.keys()]);
    return digest === "inOrder" ? [...table] : table;
  });
}

/** Lists by name, in the form in which snapshots store them. */
export const storedTables = (tables: PlainTables): Readonly<Record<string, unknown>> =>
  fieldsOf(tables, (table, { keyOf, store }) => {
    const entities = keyOf === undefined ? [...table] : [...table.values()];
    return store === undefined ? entities : entities.map(store);
  });

/** The tables of stored lists. A list that is absent gives an empty table. */
export const restoredTables = (stored: Readonly<Record<string, unknown>>): PlainTables =>
  tablesOf((name, { keyOf, restore }) => {
    const list = (stored[name] ?? []) as readonly unknown[];
    if (keyOf === undefined) return new Map(list as readonly (readonly [unknown, unknown])[]);
    return new Map(
      list.map((each) => (restore === undefined ? each : restore(each as never))).map((own) => [keyOf(own), own]),
    );
  });

function fieldsOf(
  tables: PlainTables,
  field: (table: AnyTable, form: AnyForm) => unknown,
): Readonly<Record<string, unknown>> {
  const present = forms.filter(([name, form]) => form.isAlwaysPresent === true || tables[name].size > 0);
  return Object.fromEntries(present.map(([name, form]) => [name, field(tableIn(tables, name), form)]));
}
