/** Builds a commander program from the table of commands, runs one command and returns its exit code. */
import { Command, CommanderError, Option } from "commander";
import { CliError, exitCode, type ExitCode } from "./cli-error.ts";
import { shapeOf } from "./command-shape.ts";
import type { CommandContext, CommandDefinition, OptionDefinition } from "./command.ts";
import { allCommands, commandNamed } from "./commands/index.ts";
import { actingUser, connect, connectOperations, homeDirectory, isHomeNamed, isUserNamed } from "./connection.ts";
import { commandFor } from "./commands-elsewhere.ts";
import { describeError } from "./describe-error.ts";
import { painter } from "./output/style.ts";
import { printable, type Terminal } from "./terminal.ts";
import { version } from "./version.ts";

/** Runs the command in `argv` (without the program's own name). Never throws. */
export async function runCli(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let answer: ExitCode = exitCode.ok;
  const definitions = await definitionsFor(argv);
  const program = createProgram(terminal, { argv, definitions }, (code) => {
    answer = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return answer;
  } catch (error) {
    if (terminal.interrupted.aborted) return exitCode.interrupted;
    if (error instanceof CommanderError) {
      if (error.code === "commander.unknownCommand") hintAtCommand(error, terminal);
      return error.exitCode === 0 ? exitCode.ok : exitCode.usage;
    }
    const { message, code } = describeError(error);
    const paint = painter(terminal.stderr, terminal.env);
    terminal.stderr.write(`${paint("red", "error:")} ${message}\n`);
    return code;
  }
}

/** Suggests a command of headroom for a command of another system, such as `cancel` or `squeue`. */
function hintAtCommand({ message }: CommanderError, terminal: Terminal): void {
  const name = /unknown command '(?<name>[^']*)'/.exec(message)?.groups?.["name"];
  const here = name === undefined ? undefined : commandFor(name);
  if (here !== undefined) terminal.stderr.write(`In Headroom it is: headroom ${here}\n`);
}

/** Commands that read the definitions of all others. */
const readsAll: ReadonlySet<string> = new Set(["__complete"]);

/** The definition of the command in `argv`, or all of them where it names none: the help, or a name that does not exist. */
async function definitionsFor(argv: readonly string[]): Promise<readonly CommandDefinition[]> {
  const name = commandWord(argv);
  const named = name === null || readsAll.has(name) ? null : await commandNamed(name);
  return named === null ? allCommands() : [named];
}

/** The first word that is no global option and no value of one; `null`: there is none, or help or the version is asked for. */
function commandWord(argv: readonly string[]): string | null {
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? "";
    if (!word.startsWith("-")) return word;
    if (word === "--home" || word === "--user") index += 1;
    else if (!word.startsWith("--home=") && !word.startsWith("--user=")) return null;
  }
  return null;
}

interface CommandLine {
  readonly argv: readonly string[];
  readonly definitions: readonly CommandDefinition[];
}

/** The program as data, for running and completion. */
function createProgram(
  terminal: Terminal,
  { argv, definitions }: CommandLine,
  onAnswer: (code: ExitCode) => void,
): Command {
  const program = new Command("headroom")
    .description("Headroom keeps AI compute ahead of demand. It runs a fleet and simulates it.")
    .option(
      "--home <directory>",
      "state directory (default: $HEADROOM_HOME, else .headroom in this directory or one above it, else the running one)",
    )
    .option("--user <name>", "acting user (default: $HEADROOM_USER, else your user name on this system)")
    .version(version(), "-V, --version", "print the version")
    .enablePositionalOptions();
  configure(program, terminal);
  const run: Runner = async (definition, command, args) => {
    const context = createContext(terminal, program, definitions);
    const isAfterDashes = argv.at(-args.length - 1) === "--";
    onAnswer(await definition.run(context, { args, options: command.opts(), isAfterDashes }));
  };
  for (const definition of definitions) addCommand(program, definition, run);
  for (const command of program.commands) configure(command, terminal);
  return program;
}

type Runner = (definition: CommandDefinition, command: Command, args: readonly string[]) => Promise<void>;

function configure(command: Command, terminal: Terminal): void {
  command
    .exitOverride()
    .showHelpAfterError(`(${pathOf(command)} --help shows more)`)
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      getOutHelpWidth: () => terminal.stdout.columns ?? 100,
      getErrHelpWidth: () => terminal.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  for (const child of command.commands) configure(child, terminal);
}

/** `headroom size train`. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function addCommand(parent: Command, definition: CommandDefinition, run: Runner): void {
  const command = new Command(definition.name).description(definition.summary).summary(definition.summary);
  for (const { syntax, description } of definition.arguments) command.argument(syntax, description);
  for (const option of definition.options) command.addOption(optionOf(option));
  if (definition.details !== undefined) command.addHelpText("after", `\n${definition.details}`);
  // An option after the name of a subcommand belongs to the subcommand, even if the parent has an option with the same
  // name.
  if (definition.commands.length > 0) command.enablePositionalOptions();
  for (const child of definition.commands) addCommand(command, child, run);
  if (definition.takesRest) command.passThroughOptions();
  const isGroup = definition.commands.length > 0 && definition.arguments.length === 0;
  if (isGroup) command.allowExcessArguments();
  command.action(async (...received: unknown[]) => {
    if (isGroup && command.args.length > 0) throw noSuchCommand(command);
    // Commander calls the action with each argument, then the options, then the command.
    const args = received.slice(0, definition.arguments.length).flat();
    await run(
      definition,
      command,
      args.filter((each) => typeof each === "string"),
    );
  });
  parent.addCommand(command, { hidden: definition.hidden });
}

/** Commander would complain about the number of arguments. */
function noSuchCommand(command: Command): CliError {
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((each) => each.name());
  const unknown = `${pathOf(command)} has no command ${printable(command.args[0] ?? "")}`;
  return new CliError(`${unknown}. Its commands: ${names.join(", ")}`, exitCode.usage);
}

function optionOf({ flags, description, repeatable, hidden }: OptionDefinition): Option {
  const option = new Option(flags, description);
  if (repeatable === true) {
    option.argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]);
  }
  return hidden === true ? option.hideHelp() : option;
}

/** Global options, which users can put before every command. */
interface Globals {
  readonly home?: string;
  readonly user?: string;
}

function createContext(
  terminal: Terminal,
  program: Command,
  definitions: readonly CommandDefinition[],
): CommandContext {
  // Not those of the command: `list --user` chooses rows, and must not change the acting user.
  const given: Globals = program.opts();
  const home = homeDirectory(terminal, given.home);
  const isNamed = isHomeNamed(terminal, given.home);
  const user = (): Promise<string> => actingUser(terminal, given.user);
  const place = { home, isHomeNamed: isNamed, isUserNamed: isUserNamed(terminal, given.user), user };
  return {
    terminal,
    paint: painter(terminal.stdout, terminal.env),
    home,
    isHomeNamed: isNamed,
    user,
    connect: () => connect(terminal, place, terminal.interrupted),
    connectOperations: () => connectOperations(terminal, place),
    connectForCleanUp: () => connect(terminal, place),
    shape: () => shapeOf(program, definitions),
    print: (...lines) => {
      for (const line of lines) terminal.stdout.write(`${line}\n`);
    },
    note: (line) => terminal.stderr.write(`${line}\n`),
  };
}
