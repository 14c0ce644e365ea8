/**
 * A command is data (from which help, checks and shell completion come) and a `run` function. A command's file must be
 * cheap to import, because the table of commands is read at every start: heavy modules are imported inside `run`.
 */
import type { HeadroomClient } from "@headroom/protocol";
import type { ExitCode } from "./cli-error.ts";
import type { CommandShape } from "./command-shape.ts";
import type { Paint } from "./output/style.ts";
import type { Terminal } from "./terminal.ts";

/** Completions of a word: the values themselves, or their source. */
export type Completion = "workload" | "node" | "team" | "preset" | "file" | readonly string[];

export interface ArgumentDefinition {
  /** In commander's notation: `<workload>`, `[preset]`, `<files...>`. */
  readonly syntax: string;
  readonly description: string;
  readonly complete?: Completion;
}

export interface OptionDefinition {
  /** In commander's notation: `-f, --file <path>`. */
  readonly flags: string;
  readonly description: string;
  readonly complete?: Completion;
  /** Whether the option may be given several times; its values then come as a list. */
  readonly repeatable?: boolean;
  /** Field of a workload file that the option sets, as `gang.cores`; the reader of workload files reads its value. */
  readonly field?: string;
  /** Whether the help omits the option: it is an alias of another. */
  readonly hidden?: boolean;
}

export interface CommandContext {
  readonly terminal: Terminal;
  readonly paint: Paint;
  /** The state directory: `--home`, `$HEADROOM_HOME`, else `.headroom` in the working directory. */
  readonly home: string;
  /**
   * The acting user: `--user`, `$HEADROOM_USER`, else the operating system's user; throws if that is not a valid user
   * name.
   */
  user(): Promise<string>;
  /** Connects to the control plane; throws a `CliError` that says how to start one. */
  connect(): Promise<HeadroomClient>;
  /** The shape of the whole program. */
  shape(): CommandShape;
  /** Writes text to stdout. */
  print(...lines: readonly string[]): void;
  /** Writes a progress line to stderr. */
  note(line: string): void;
}

export interface Invocation<Options> {
  readonly args: readonly string[];
  readonly options: Options;
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
   * Whether every word from the first argument on belongs to the argument, options too: `headroom run python3 train.py
   * --lr 3`.
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

/** Commander types `options` as unknown; this is the only cast to `Options`. */
export function defineCommand<Options extends object>(source: CommandSource<Options>): CommandDefinition {
  return {
    arguments: [],
    options: [],
    commands: [],
    hidden: false,
    takesRest: false,
    ...source,
    run: (context, { args, options }) => source.run(context, { args, options: options as Options }),
  };
}

export const jsonOption: OptionDefinition = {
  flags: "--json",
  description: "print JSON for programs (docs/reference/cli.md)",
};
