/** The command line of a container, whose words Kubernetes runs without a shell. */

/**
 * `$(NAME)` in a word stands for a variable of the container, `$$(NAME)` for the text `$(NAME)`; an unknown name stays as it is
 * (kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container).
 */
export function commandLine(words: readonly string[], variables: ReadonlySet<string>): string {
  return words.map((word) => quotedWord(word, variables)).join(" ");
}

function quotedWord(word: string, variables: ReadonlySet<string>): string {
  const parts: string[] = [];
  let plain = "";
  const flush = (): void => {
    if (plain !== "") parts.push(quoted(plain));
    plain = "";
  };
  for (const { text, name } of referencesIn(word)) {
    if (name === undefined || !variables.has(name)) plain += text;
    else {
      flush();
      parts.push(`"$${name}"`);
    }
  }
  flush();
  return parts.length === 0 ? "''" : parts.join("");
}

interface Part {
  readonly text: string;
  readonly name?: string | undefined;
}

function referencesIn(word: string): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const match of word.matchAll(/\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g)) {
    parts.push({ text: word.slice(from, match.index) });
    parts.push(match[1] === undefined ? { text: "$" } : { text: match[0], name: match[1] });
    from = match.index + match[0].length;
  }
  return [...parts, { text: word.slice(from) }];
}

/** The value of a variable, in which `$(NAME)` stands for a variable that is set before it. */
export function expandedValue(value: string, variables: Readonly<Record<string, string>>): string {
  return referencesIn(value)
    .map(({ text, name }) => (name !== undefined && Object.hasOwn(variables, name) ? (variables[name] ?? "") : text))
    .join("");
}

const quoted = (text: string): string =>
  /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
