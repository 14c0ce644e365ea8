/** The names of commands, options and arguments, for shell completion. */
import type { Command, Option } from "commander";
import type { CommandDefinition, Completion } from "./command.ts";

export type { Completion };

export interface OptionShape {
  /** The names of an option, such as `-f`, `--file`; the long form comes last. */
  readonly names: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  readonly complete: Completion | undefined;
}

export interface ArgumentShape {
  readonly name: string;
  readonly isRepeated: boolean;
  readonly complete: Completion | undefined;
}

export interface CommandShape {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionShape[];
  readonly arguments: readonly ArgumentShape[];
  readonly commands: readonly CommandShape[];
}

/** `definitions`: the table of commands. It also says where the values of an option come from. */
export function shapeOf(
  command: Command,
  definitions: readonly CommandDefinition[],
  definition?: CommandDefinition,
): CommandShape {
  const children = command.commands.filter((child) => !isHidden(child, definitions));
  return {
    name: command.name(),
    summary: command.summary() === "" ? command.description() : command.summary(),
    options: command.options.filter(({ hidden }) => !hidden).map((option) => optionShape(option, definition)),
    arguments: command.registeredArguments.map((argument, index) => ({
      name: argument.name(),
      isRepeated: argument.variadic,
      complete: definition?.arguments[index]?.complete ?? argument.argChoices,
    })),
    commands: children.map((child) => {
      const own = definitions.find(({ name }) => name === child.name());
      return shapeOf(child, own?.commands ?? [], own);
    }),
  };
}

function optionShape(option: Option, definition: CommandDefinition | undefined): OptionShape {
  const own = definition?.options.find(({ flags }) => flags === option.flags);
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    takesValue: option.required || option.optional,
    complete: own?.complete ?? option.argChoices,
  };
}

function isHidden(child: Command, definitions: readonly CommandDefinition[]): boolean {
  return definitions.some(({ name, hidden }) => hidden && name === child.name());
}
