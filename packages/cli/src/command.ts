/**
 * A command is data, from which help, checks and shell completion are made, and a `run` function. The file of a command
 * must be cheap to import, because the table of commands is read at every start: heavy modules are imported inside
 * `run`.
 */
import type { HeadroomClient, OperationCaller } from "@headroom/protocol";
import type { ExitCode } from "./cli-error.ts";
import type { CommandShape } from "./command-shape.ts";
import type { Paint } from "./output/style.ts";
import type { Terminal } from "./terminal.ts";

/** Values that shell completion offers for a word, or where they come from. */
export type Completion = "workload" | "node" | "team" | "preset" | "file" | readonly string[];

export interface ArgumentDefinition {
  /** The argument in commander's notation: `<workload>`, `[preset]`, `<files...>`. */
  readonly syntax: string;
  readonly description: string;
  readonly complete?: Completion;
}

export interface OptionDefinition {
  /** In commander's notation: `-f, --file <path>`. */
  readonly flags: string;
  readonly description: string;
  readonly complete?: Completion;
  /** Whether users may repeat the option. Its values then come as a list. */
  readonly repeatable?: boolean;
  /**
   * Field of a workload file that the option sets, such as `gang.cores`. The reader of workload files reads the
   * option's value.
   */
  readonly field?: string;
  /** Whether the help omits the option, because it is an alias of another option. */
  readonly hidden?: boolean;
}

export interface CommandContext {
  readonly terminal: Terminal;
  readonly paint: Paint;
  /** The state directory: `--home`, `$HEADROOM_HOME`, else `.headroom` in the working directory. */
  readonly home: string;
  /** Whether `--home` or `$HEADROOM_HOME` names the state directory. */
  readonly isHomeNamed: boolean;
  /**
   * The acting user: `--user`, `$HEADROOM_USER`, else the operating system's user; throws if that is not a valid user
   * name.
   */
  user(): Promise<string>;
  /** Connects to the control plane. Throws a `CliError` that explains how to start one. */
  connect(): Promise<HeadroomClient>;
  /** As `connect`, for a client that is derived from the operations table. */
  connectOperations(): Promise<OperationCaller>;
  /** As `connect`, but requests are sent even after the user has interrupted the command. */
  connectForCleanUp(): Promise<HeadroomClient>;
  /** The names of all commands, options and arguments of the program. */
  shape(): CommandShape;
  /** Writes text to stdout. */
  print(...lines: readonly string[]): void;
  /** Writes a progress line to stderr. */
  note(line: string): void;
}

export interface Invocation<Options> {
  readonly args: readonly string[];
  readonly options: Options;
  /** With `takesRest`: whether the arguments stood after `--`. */
  readonly isAfterDashes: boolean;
}

export interface CommandDefinition {
  readonly name: string;
  readonly summary: string;
  /** Text below the options: examples and notes. */
  readonly details?: string;
  readonly arguments: readonly ArgumentDefinition[];
  readonly options: readonly OptionDefinition[];
  readonly commands: readonly CommandDefinition[];
  readonly hidden: boolean;
  /**
   * Whether every word after the first belongs to the argument, even if it looks like an option: `headroom run python3
   * train.py --lr 3`.
   */
  readonly takesRest: boolean;
  run(context: CommandContext, invocation: Invocation<Readonly<Record<string, unknown>>>): Promise<ExitCode>;
}

interface CommandSource<Options> {
  readonly name: string;
  readonly summary: string;
  readonly details?: string;
  readonly arguments?: readonly ArgumentDefinition[];
  readonly options?: readonly OptionDefinition[];
  readonly commands?: readonly CommandDefinition[];
  readonly hidden?: boolean;
  readonly takesRest?: boolean;
  run(context: CommandContext, invocation: Invocation<Options>): Promise<ExitCode>;
}

/** Commander declares `options` as unknown; only this line casts the value to `Options`. */
export function defineCommand<Options extends object>(source: CommandSource<Options>): CommandDefinition {
  return {
    arguments: [],
    options: [],
    commands: [],
    hidden: false,
    takesRest: false,
    ...source,
    run: (context, { options, ...rest }) => source.run(context, { ...rest, options: options as Options }),
  };
}

export const jsonOption: OptionDefinition = {
  flags: "--json",
  description: "print JSON for programs (docs/reference/cli.md)",
};
