/**
 * Shell completion. The shells call `headroom __complete -- WORDS…`; the candidates come from the table of commands.
 */
import type { CommandShape, Completion, OptionShape } from "./command-shape.ts";

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Source of names that only the control plane knows. */
export type NameSource = (kind: "workload" | "node" | "team" | "preset") => Promise<readonly Candidate[]>;

/** Candidates for the last of `words`, which can be empty or incomplete. If there are none, the shell offers files. */
export async function candidates(
  program: CommandShape,
  words: readonly string[],
  names: NameSource,
): Promise<readonly Candidate[]> {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  if (before.includes("--")) return [];
  const { command, positionals, pending } = walk(program, before);
  if (pending !== undefined) return matching(await completed(pending.complete, names), current);
  if (current.startsWith("-")) {
    return matching(optionCandidates([...command.options, ...program.options, helpOption]), current);
  }
  const commands =
    positionals === 0 ? command.commands.map(({ name, summary }) => ({ value: name, description: summary })) : [];
  const argument = command.arguments[Math.min(positionals, command.arguments.length - 1)];
  const isPastLast = positionals >= command.arguments.length && argument?.isRepeated !== true;
  const values = argument === undefined || isPastLast ? [] : await completed(argument.complete, names);
  return matching([...commands, ...values], current);
}

const helpOption: OptionShape = { names: ["--help"], description: "say more", takesValue: false, complete: undefined };

function walk(program: CommandShape, words: readonly string[]) {
  let command = program;
  let positionals = 0;
  let pending: OptionShape | undefined;
  for (const word of words) {
    if (pending !== undefined) {
      pending = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const option = [...command.options, ...program.options].find(({ names }) => names.includes(word));
      pending = option?.takesValue === true ? option : undefined;
      continue;
    }
    const child = positionals === 0 ? command.commands.find(({ name }) => name === word) : undefined;
    if (child === undefined) positionals += 1;
    else command = child;
  }
  return { command, positionals, pending };
}

async function completed(complete: Completion | undefined, names: NameSource): Promise<readonly Candidate[]> {
  if (complete === undefined || complete === "file") return [];
  if (typeof complete !== "string") return complete.map((value) => ({ value, description: "" }));
  return names(complete);
}

function optionCandidates(options: readonly OptionShape[]): Candidate[] {
  return options.map(({ names, description }) => ({ value: names.at(-1) ?? "", description }));
}

function matching(found: readonly Candidate[], prefix: string): Candidate[] {
  const kept = new Map(found.filter(({ value }) => value.startsWith(prefix)).map((each) => [each.value, each]));
  return [...kept.values()];
}

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Shell code that calls `__complete`. If there are no candidates, the shell offers file names. */
export const shellScripts: Readonly<Record<Shell, string>> = {
  bash: `# headroom completion for bash; in ~/.bashrc: eval "$(headroom completion bash)"
_headroom() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _headroom headroom`,
  zsh: `#compdef headroom
# headroom completion for zsh; in ~/.zshrc, after compinit: eval "$(headroom completion zsh)"
_headroom() {
  local -a lines candidates
  local line
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#candidates )); then _describe headroom candidates; else _files; fi
}
compdef _headroom headroom`,
  fish: `# headroom completion for fish; in ~/.config/fish/config.fish: headroom completion fish | source
function __headroom_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] __complete -- $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c headroom -f -a '(__headroom_complete)'`,
};
