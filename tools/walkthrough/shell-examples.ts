/**
 * The commands of a Markdown page, in the order in which a reader types them: every line of a block marked `sh`, and
 * every line of a `text` block that begins with `$ `. A `yaml` or `json` block becomes the file that the next command names
 * with `-f`, `--config` or `@`.
 */
export type Example =
  | {
      readonly kind: "command";
      readonly text: string;
      readonly line: number;
      /** Output that the page shows for the command; empty in blocks marked `sh`. */
      readonly output: readonly string[];
    }
  | { readonly kind: "file"; readonly name: string; readonly text: string; readonly line: number };

interface Block {
  readonly language: string;
  /** Line number of the first line inside the fence, from 1. */
  readonly line: number;
  readonly lines: readonly string[];
}

/** Throws if no command names a file for a block with its text. */
export function shellExamples(markdown: string): readonly Example[] {
  const examples: Example[] = [];
  let file: Block | null = null;
  for (const block of blocksOf(markdown)) {
    if (block.language === "yaml" || block.language === "json") file = block;
    for (const command of commandsOf(block)) {
      const name = /(?: -f | --config |@)(\S+)/.exec(command.text)?.[1];
      if (file !== null && name !== undefined) {
        examples.push({ kind: "file", name, text: `${file.lines.join("\n")}\n`, line: file.line });
        file = null;
      }
      examples.push(command);
    }
  }
  if (file !== null) throw new Error(`line ${file.line}: no later command names the file of this block`);
  return examples;
}

function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | null = null;
  for (const [index, line] of markdown.split("\n").entries()) {
    const fence = /^```(\w*)/.exec(line);
    if (open !== null && fence !== null) {
      blocks.push(open);
      open = null;
    } else if (open !== null) open.lines.push(line);
    else if (fence !== null) open = { language: fence[1] ?? "", line: index + 2, lines: [] };
  }
  return blocks;
}

type Command = Extract<Example, { kind: "command" }>;

function commandsOf({ language, line, lines }: Block): readonly Command[] {
  if (language === "sh") {
    const numbered = lines.map((text, index) => ({ text: text.trim(), line: line + index }));
    return numbered
      .filter(({ text }) => text !== "" && !text.startsWith("#"))
      .map((each) => ({ kind: "command", ...each, output: [] }));
  }
  if (language !== "text") return [];
  const starts = lines.flatMap((text, index) => (text.startsWith("$ ") ? [index] : []));
  return starts.map((start, position) => {
    const output = lines.slice(start + 1, starts[position + 1] ?? lines.length);
    return { kind: "command", text: (lines[start] ?? "").slice(2), line: line + start, output };
  });
}
