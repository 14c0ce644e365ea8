/**
 * A type of executor that operators can declare: its name, its settings, and how it is opened. Each type is one row of
 * `executor-types.ts`. The code of a type is loaded when the first executor of the type is opened.
 */
import type { ExecutorId } from "@headroom/model";
import type { StoreSet } from "@headroom/stores";
import type { z } from "zod";
import type { Executor } from "../executor.ts";

/** Facts that an opened executor gets from the control plane. */
export interface ExecutorContext {
  /** Id by which pools name the executor: the declared name. */
  readonly id: ExecutorId;
  /** Absolute path of the executor's own directory. The control plane makes its parent, the executor the rest. */
  readonly directory: string;
  /** Called for problems that concern no single attempt. */
  onProblem(message: string): void;
  /** The text behind a reference to a secret (`file:/path` or `env:NAME`). Throws if it cannot be read. */
  secret(reference: string): string;
  /** Rights and data rules of the declared stores. Absent: no stores are declared. */
  readonly stores?: StoreSet | undefined;
}

/** Teams and submitters by the names that a cluster has for them: the reverse of the rules for submissions. */
export interface PastNames {
  /** `null`: the rules name no team for the account (of Slurm) or the namespace (of Kubernetes), or several. */
  teamOf(account: string): string | null;
  actorOf(user: string): string;
}

export interface ExecutorType {
  readonly name: string;
  /** One sentence for lists and the reference. */
  readonly summary: string;
  /** Fields with `meta({ description })`, which the reference shows. Unknown fields are refused. */
  readonly settings: z.ZodObject;
  /** Absent: past work of such executors cannot be imported. */
  pastNames?(settings: unknown): PastNames;
  /**
   * `settings` have passed the schema. It opens no connection that takes long: contact is made by `attempts()` and
   * `inventory()`, which may fail.
   */
  open(settings: unknown, context: ExecutorContext): Promise<Executor>;
}

/** Ties the settings of a type to its schema. */
export function executorType<Settings extends z.ZodObject>(type: {
  readonly name: string;
  readonly summary: string;
  readonly settings: Settings;
  pastNames?(settings: z.output<Settings>): PastNames;
  open(settings: z.output<Settings>, context: ExecutorContext): Promise<Executor>;
}): ExecutorType {
  const { pastNames, ...others } = type;
  return {
    ...others,
    ...(pastNames === undefined ? {} : { pastNames: (settings) => pastNames(type.settings.parse(settings)) }),
    open: (settings, context) => type.open(type.settings.parse(settings), context),
  };
}
