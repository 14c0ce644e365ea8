/**
 * The executors of a control plane: the one of this machine, and those that operators declare. Declared ones come and
 * go while it runs. Removing one changes nothing about its attempts and nodes: they stay as recorded.
 */
import path from "node:path";
import type { ExecutorId } from "@headroom/model";
import type { Executor, ExecutorContext, ExecutorDeclaration, ExecutorType } from "@headroom/executors";
import { OperationalError, makeDirectory } from "@headroom/platform";
import type { DriverLog } from "../driver/driver-log.ts";
import type { CommandRequest, Driver } from "../driver/driver.ts";
import type { DeclaredExecutors } from "../driver/open-driver.ts";
import type { RetainingExecutor } from "../retention/retaining-executor.ts";
import { ExecutorContact } from "./executor-contact.ts";
import type { InventoryRules } from "./executor-contact.ts";
import { readExecutorFile, writeExecutorFile } from "./executor-file.ts";
import type { DeclaredExecutor } from "./executor-file.ts";
import { readSecret } from "./secret-references.ts";
import { messageOf, within } from "./within.ts";

export interface ExecutorServiceOptions {
  readonly home: string;
  readonly types: readonly ExecutorType[];
  /** Executors that are not declared: that of this machine. */
  readonly own: readonly RetainingExecutor[];
  readonly rules: InventoryRules;
  readonly log: DriverLog;
  /** Rights and data rules of the declared stores. Absent: no stores are declared. */
  readonly stores?: ExecutorContext["stores"];
  retained(executor: Executor): RetainingExecutor;
  nowMs(): number;
}

interface Member {
  /** `null`: the executor is not declared. */
  readonly declared: DeclaredExecutor | null;
  executor: RetainingExecutor | null;
  contact: ExecutorContact | null;
  /** The opening in progress: an executor is never opened twice at once. */
  opening: Promise<Executor> | null;
  /** True: the declaration was removed or replaced. An executor that opens afterwards is closed. */
  isGone: boolean;
  /** The reason why the executor's answer at the start is not used; `null`: it is. */
  problem: string | null;
}

export interface ListedExecutor {
  readonly id: ExecutorId;
  readonly declaration: ExecutorDeclaration | null;
  /** Kind of the open executor; absent: it is not open. */
  readonly kind?: string;
}

/** Time in ms that a start spends on executors that do not answer: opening them, then asking them. */
const START_OPEN_MS = 500;
const START_ANSWER_MS = 1_500;

export class ExecutorService {
  readonly #options: ExecutorServiceOptions;
  readonly #members = new Map<ExecutorId, Member>();
  readonly #open = new Map<ExecutorId, Executor>();
  #driver: Driver | null = null;
  /** Changes of declarations are made one after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(options: ExecutorServiceOptions) {
    this.#options = options;
    for (const executor of options.own) {
      this.#members.set(executor.id, { ...newMember(null), executor });
      this.#open.set(executor.id, executor);
    }
  }

  /** Executors that are not declared. */
  get own(): readonly RetainingExecutor[] {
    return this.#options.own;
  }

  get types(): readonly ExecutorType[] {
    return this.#options.types;
  }

  /** Open executors by id. The map changes when executors come and go. */
  get executors(): ReadonlyMap<ExecutorId, Executor> {
    return this.#open;
  }

  /** Reads the declarations and opens their executors, as far as they open in time. */
  async open(): Promise<void> {
    for (const declared of readExecutorFile(this.#options.home, this.#options.types))
      this.#members.set(declared.declaration.name, newMember(declared));
    await Promise.all(
      [...this.#members.values()].map(async (member) => {
        const { declared } = member;
        if (declared === null) return;
        try {
          await within(START_OPEN_MS, () => this.#opened(member, declared));
        } catch (error) {
          member.problem = messageOf(error);
        }
      }),
    );
  }

  /** Declared executors for the start of the driver. */
  get declared(): DeclaredExecutors {
    return {
      executors: [...this.#members.values()].flatMap(({ declared, executor, problem }) =>
        declared === null || executor === null || problem !== null ? [] : [executor],
      ),
      unopened: [...this.#members].flatMap(([id, { problem }]) => (problem === null ? [] : [{ id, problem }])),
      answerMs: START_ANSWER_MS,
      silent: ({ id }, problem) => {
        const member = this.#members.get(id);
        if (member !== undefined) member.problem = problem;
      },
    };
  }

  /** Facts about declarations that the journal lacks: the file was changed while no control plane ran. */
  async record(driver: Driver): Promise<void> {
    for (const { declared } of this.#members.values()) {
      if (declared === null) continue;
      const { name: executor, mode } = declared.declaration;
      await recordChange(driver, executor, { kind: "declare", mode });
    }
    const states = await driver.read(({ state }) => [...state.executorStates.values()]);
    for (const { executor, isDeclared, phase } of states)
      if (isDeclared && phase !== "removed" && !this.#members.has(executor))
        await recordChange(driver, executor, { kind: "remove" });
  }

  /** Begins to follow the executors. */
  begin(driver: Driver): void {
    this.#driver = driver;
    for (const [id, member] of this.#members) this.#follow(driver, id, member);
  }

  list(): readonly ListedExecutor[] {
    return [...this.#members].map(([id, { declared, executor }]) => ({
      id,
      declaration: declared?.declaration ?? null,
      ...(executor === null ? {} : { kind: executor.kind }),
    }));
  }

  /** Asks all executors for their nodes now. */
  look(): void {
    for (const { contact } of this.#members.values()) contact?.look();
  }

  /** `record` records the change as a fact, after the file has it. Declares an executor, or replaces its declaration. Its attempts continue. */
  declare(declared: DeclaredExecutor, record: () => Promise<void>): Promise<"created" | "changed" | "unchanged"> {
    return this.#inTurn(async () => {
      const { name } = declared.declaration;
      const known = this.#members.get(name);
      const text = JSON.stringify(declared.declaration);
      if (known?.declared != null && JSON.stringify(known.declared.declaration) === text) return "unchanged";
      const member = newMember(declared);
      await this.#change(name, member, record);
      if (known !== undefined) await this.#leave(name, known);
      if (this.#driver !== null) this.#follow(this.#driver, name, member);
      return known === undefined ? "created" : "changed";
    });
  }

  /** Removes a declaration. False: no such executor is declared. */
  remove(name: ExecutorId, record: () => Promise<void>): Promise<boolean> {
    return this.#inTurn(async () => {
      const member = this.#members.get(name);
      if (member?.declared == null) return false;
      await this.#change(name, null, record);
      await this.#leave(name, member);
      return true;
    });
  }

  /** A change that cannot be recorded, because the control plane is overloaded, is taken back. */
  async #change(name: ExecutorId, member: Member | null, record: () => Promise<void>): Promise<void> {
    const before = this.#members.get(name);
    const set = (next: Member | null | undefined): void => {
      if (next == null) this.#members.delete(name);
      else this.#members.set(name, next);
      this.#write();
    };
    try {
      set(member);
      await record();
    } catch (error) {
      set(before);
      throw error;
    }
  }

  /** Stops following the executors. */
  stop(): void {
    for (const { contact } of this.#members.values()) contact?.stop();
  }

  async close(): Promise<void> {
    this.stop();
    await this.#changing.catch(() => undefined);
    await Promise.all([...this.#open.values()].map((executor) => executor.close()));
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(change, change);
    this.#changing = turn.catch(() => undefined);
    return turn;
  }

  #write(): void {
    const declarations = [...this.#members.values()].flatMap(({ declared }) => declared?.declaration ?? []);
    writeExecutorFile(this.#options.home, declarations);
  }

  #follow(driver: Driver, id: ExecutorId, member: Member): void {
    const { rules, log } = this.#options;
    const { executor, problem, declared } = member;
    const open = async (): Promise<Executor> => (declared === null ? unopened(id) : this.#opened(member, declared));
    const contact = new ExecutorContact({ id, driver, rules, log, open });
    member.contact = contact;
    member.executor?.begin(driver);
    // The inventory of this machine was read by the start itself.
    if (executor !== null && problem === null) contact.beginConnected(executor, declared === null ? rules.everyMs : 0);
    else contact.begin(executor, problem);
  }

  #opened(member: Member, declared: DeclaredExecutor): Promise<Executor> {
    if (member.executor !== null) return Promise.resolve(member.executor);
    member.opening ??= this.#openNow(member, declared).finally(() => {
      member.opening = null;
    });
    return member.opening;
  }

  async #openNow(member: Member, { declaration, type }: DeclaredExecutor): Promise<Executor> {
    const { home, log, retained } = this.#options;
    const { name, settings } = declaration;
    const above = path.resolve(home, "executors");
    makeDirectory(above, 0o700);
    const inner = await type.open(settings, {
      id: name,
      directory: path.join(above, name),
      onProblem: (message) => log.warn(`executor ${name}: ${message}`),
      secret: readSecret,
      stores: this.#options.stores,
    });
    if (inner.id !== name) throw new Error(`the type ${type.name} opened an executor with the id ${inner.id}`);
    const executor = retained(inner);
    if (member.isGone) {
      await executor.close();
      throw new OperationalError("executorRemoved", `the executor ${name} was removed while it was opened`);
    }
    member.executor = executor;
    this.#open.set(name, executor);
    if (this.#driver !== null) executor.begin(this.#driver);
    return executor;
  }

  async #leave(id: ExecutorId, member: Member): Promise<void> {
    member.isGone = true;
    member.contact?.stop();
    this.#driver?.detach(id);
    this.#open.delete(id);
    await member.executor?.close();
  }
}

type ExecutorChange = (CommandRequest & { readonly kind: "setExecutor" })["change"];

/** The actor is the file, because nobody knows who changed it. */
async function recordChange(driver: Driver, executor: ExecutorId, change: ExecutorChange): Promise<void> {
  await driver.command({ kind: "setExecutor", executor, change, actor: "executors.yaml", idempotencyKey: null });
}

const newMember = (declared: DeclaredExecutor | null): Member => ({
  declared,
  executor: null,
  contact: null,
  opening: null,
  isGone: false,
  problem: null,
});

const unopened = (id: ExecutorId): never => {
  throw new Error(`the executor ${id} is not declared and not open`);
};
