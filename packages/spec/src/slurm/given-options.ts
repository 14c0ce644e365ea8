/** Turns the words of `#SBATCH` lines into options, as `getopt_long` does: abbreviated, short, joined and clustered. */
import { nearestName } from "../notation/nearest.ts";
import { findLong, findShort, slurmOptions, type SlurmOption } from "./options.ts";
import type { DirectiveLine, Word } from "./script-text.ts";

export interface GivenOption {
  readonly option: SlurmOption;
  /** `null`: the option has no value. */
  readonly value: string | null;
  readonly directive: string;
  readonly line: number;
}

export interface InvalidWords {
  readonly directive: string;
  readonly line: number;
  readonly reason: string;
  /** True: a site's own options, which `sbatch` accepts where the plugin is installed. */
  readonly isPlugin?: true;
}

export interface LineOptions {
  readonly given: readonly GivenOption[];
  readonly invalid: readonly InvalidWords[];
}

/** Options of plugins that public scripts often use. `sbatch` knows them only where the plugin is installed. */
const pluginOptions = /^(?:container-|comet|bbopt|x11|tunnel|tmpfs|no-container|ear)/;

export function optionsOfLine({ line, words, openQuote }: DirectiveLine): LineOptions {
  const given: GivenOption[] = [];
  const invalid: InvalidWords[] = [];
  const queue = [...words];
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    const found = word.value.startsWith("--") ? longOption(word, queue) : shortOptions(word, queue);
    for (const each of found)
      if ("option" in each) given.push({ ...each, line });
      else invalid.push({ ...each, line });
  }
  if (openQuote !== undefined)
    invalid.push({ line, directive: openQuote, reason: `the quote ${openQuote} has no end` });
  return { given, invalid };
}

type Found = Omit<GivenOption, "line"> | Omit<InvalidWords, "line">;

function longOption({ value: text, written }: Word, queue: Word[]): readonly Found[] {
  const equals = text.indexOf("=");
  const name = text.slice(2, equals < 0 ? undefined : equals);
  const own = equals < 0 ? null : text.slice(equals + 1);
  const search = findLong(name);
  if (search.kind === "ambiguous")
    return [{ directive: written, reason: `--${name} can stand for ${search.names.join(", ")}` }];
  if (search.kind === "unknown") return [unknownOption(name, written)];
  const { option } = search;
  if (option.argument === "none") {
    return own === null
      ? [{ option, value: null, directive: written }]
      : [{ directive: written, reason: `--${option.long} takes no value` }];
  }
  if (own !== null || option.argument === "optional") return [{ option, value: own, directive: written }];
  return [withNextWord(option, written, queue)];
}

function unknownOption(name: string, directive: string): Found {
  if (pluginOptions.test(name))
    return { directive, reason: "is an option of a plugin, which Headroom does not have", isPlugin: true };
  const near = nearestName(
    name,
    slurmOptions.map(({ long }) => long),
  );
  return { directive, reason: `is no option of sbatch${near === undefined ? "" : `; did you mean --${near}?`}` };
}

function withNextWord(option: SlurmOption, written: string, queue: Word[]): Found {
  const next = queue.shift();
  return next === undefined
    ? { directive: written, reason: "has no value" }
    : { option, value: next.value, directive: `${written} ${next.written}` };
}

/** `-N1`, `-N 1`, `-Hn4`. */
function shortOptions({ value: text, written }: Word, queue: Word[]): readonly Found[] {
  if (!text.startsWith("-") || text === "-")
    return [
      { directive: written, reason: "is not an option; write --option=value without spaces, or quote the value" },
    ];
  const found: Found[] = [];
  for (let at = 1; at < text.length; at++) {
    const option = findShort(text.charAt(at));
    if (option === undefined)
      return [...found, { directive: written, reason: `sbatch has no option -${text.charAt(at)}` }];
    if (option.argument === "none") {
      found.push({ option, value: null, directive: written });
      continue;
    }
    const rest = text.slice(at + 1);
    if (rest !== "") return [...found, { option, value: rest, directive: written }];
    if (option.argument === "optional") return [...found, { option, value: null, directive: written }];
    return [...found, withNextWord(option, written, queue)];
  }
  return found;
}

/** Options that variables of the submitter's environment set, such as `SBATCH_TIMELIMIT`. */
export function optionsOfVariables(environment: Readonly<Record<string, string | undefined>>): readonly GivenOption[] {
  return slurmOptions.flatMap((option): GivenOption[] => {
    const value = option.variable === undefined ? undefined : environment[option.variable];
    if (value === undefined || option.variable === undefined) return [];
    // An option without a value is set by an empty text, `yes` or a number other than 0.
    if (option.argument === "none" && !/^(?:|yes|[1-9]\d*)$/.test(value)) return [];
    const directive = value === "" ? option.variable : `${option.variable}=${value}`;
    return [{ option, value: option.argument === "none" ? null : value, directive, line: 0 }];
  });
}
