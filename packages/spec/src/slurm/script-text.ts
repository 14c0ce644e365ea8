/**
 * The lines of a batch script as `sbatch` reads them: the interpreter of the first line, the `#SBATCH` lines before the first
 * command split into words, and lines that look like directives but have no effect.
 */

export interface Word {
  /** The word without quotes. */
  readonly value: string;
  /** The word as the script has it. */
  readonly written: string;
}

export interface DirectiveLine {
  /** Line number, from 1. */
  readonly line: number;
  readonly words: readonly Word[];
  /** The quote that has no end; absent: all quotes have one. */
  readonly openQuote?: string;
}

export interface VoidLine {
  readonly line: number;
  readonly written: string;
  readonly reason: string;
}

export interface ScriptText {
  /** Program of the first line, and the rest of that line as its one argument; `null`: the first line names none. */
  readonly interpreter: { readonly program: string; readonly argument: string | null } | null;
  readonly directives: readonly DirectiveLine[];
  readonly voids: readonly VoidLine[];
  readonly hasDosLineEnds: boolean;
  /** The text with line ends of Unix. */
  readonly text: string;
}

const MAGIC = "#SBATCH";

/** Whether the text has a line that starts like a directive. */
export const hasDirectives = (text: string): boolean => /^#SBATCH/m.test(text);

export function readScriptText(written: string): ScriptText {
  const hasDosLineEnds = written.includes("\r\n");
  const text = hasDosLineEnds ? written.replaceAll("\r\n", "\n") : written;
  const directives: DirectiveLine[] = [];
  const voids: VoidLine[] = [];
  let firstCommand: number | null = null;
  for (const [index, content] of text.split("\n").entries()) {
    const line = index + 1;
    if (content.startsWith(MAGIC)) {
      if (firstCommand === null) directives.push({ line, ...wordsOf(content.slice(MAGIC.length)) });
      else
        voids.push(
          voidLine(line, content.slice(MAGIC.length), `stands after the first command (line ${firstCommand})`),
        );
      continue;
    }
    const near = nearDirective(content);
    if (near !== null) voids.push(voidLine(line, near.rest, near.reason));
    else if (firstCommand === null && !/^\s*(?:#|$)/.test(content)) firstCommand = line;
  }
  return { interpreter: interpreterOf(text), directives, voids, hasDosLineEnds, text };
}

const voidLine = (line: number, rest: string, reason: string): VoidLine => ({ line, written: rest.trim(), reason });

/** Lines that are comments to Slurm although they look like directives. */
function nearDirective(content: string): { readonly rest: string; readonly reason: string } | null {
  const found = /^(\s*)(#+\s*)(SBATCH|sbatch|PBS|BSUB|\$)(?=[\s-]|$)(.*)$/.exec(content);
  if (found === null) return null;
  const [, indent = "", marks = "", word = "", rest = ""] = found;
  if (word === "$") return null;
  if (word === "PBS" || word === "BSUB") {
    return marks === "#" && indent === ""
      ? { rest: `#${word}${rest}`, reason: `is a line of ${word}, not of Slurm` }
      : null;
  }
  if (!/^\s*-|^\s*(?:het|pack)job\b/.test(rest)) return null;
  if (marks.trim().length > 1) return { rest, reason: "is commented out" };
  if (indent !== "") return { rest, reason: "has spaces before #SBATCH, so it is a comment" };
  if (word === "sbatch") return { rest, reason: "is a comment: Slurm reads only #SBATCH in capitals" };
  return { rest, reason: "is a comment: Slurm reads only #SBATCH without a space after #" };
}

function interpreterOf(text: string): ScriptText["interpreter"] {
  const found = /^#![ \t]*(\S+)(?:[ \t]+([^\n]*?))?[ \t]*(?:\n|$)/.exec(text);
  const [, program, argument] = found ?? [];
  if (program === undefined) return null;
  return { program, argument: argument === undefined || argument === "" ? null : argument };
}

/**
 * Splits a line into words as `sbatch` does: quotes of both kinds join, and `#` outside quotes starts a comment, even
 * within a word.
 */
function wordsOf(rest: string): Pick<DirectiveLine, "words" | "openQuote"> {
  const words: Word[] = [];
  let at = 0;
  while (at < rest.length) {
    if (/\s/.test(rest.charAt(at))) at++;
    else if (rest.charAt(at) === "#") break;
    else {
      const word = wordAt(rest, at);
      if (word.openQuote !== null) return { words, openQuote: word.openQuote };
      if (word.value !== "") words.push({ value: word.value, written: rest.slice(at, word.end) });
      at = word.end;
    }
  }
  return { words };
}

function wordAt(rest: string, start: number): { value: string; end: number; openQuote: string | null } {
  let value = "";
  let quote: string | null = null;
  let at = start;
  for (; at < rest.length; at++) {
    const sign = rest.charAt(at);
    const next = rest.charAt(at + 1);
    if (quote === null && (/\s/.test(sign) || sign === "#")) break;
    if (sign === quote) quote = null;
    else if (quote === null && (sign === '"' || sign === "'")) quote = sign;
    else if (sign === "\\" && quote !== "'" && next !== "" && !/\s/.test(next)) {
      value += next;
      at++;
    } else value += sign;
  }
  return { value, end: at, openQuote: quote };
}
