/**
 * Reads `topology.conf` of Slurm's tree plugin (slurm.schedmd.com/topology.conf.html): lines `SwitchName=s1 Nodes=n[1-4]` for the lowest
 * switches, and `SwitchName=core Switches=s[1-4]` above them.
 */
import { hostNames } from "../reading/host-list.ts";
import { Unreadable } from "../reading/rows.ts";

/** Switches of a tree in which every node has the same number of switches above it. */
export interface SwitchTree {
  /** Names of the levels, widest first. */
  readonly levels: readonly string[];
  /** Switches above each node, in the order of the levels. */
  readonly above: ReadonlyMap<string, readonly string[]>;
}

const levelNames: readonly (readonly string[])[] = [[], ["leaf"], ["spine", "leaf"], ["core", "spine", "leaf"]];

interface Switch {
  readonly line: number;
  readonly nodes: readonly string[];
  readonly switches: readonly string[];
}

/** Throws `Unreadable`, with the line, if the text is no tree of at most three levels. */
export function switchTree(text: string): SwitchTree {
  const switches = switchesIn(text);
  const parents = new Map<string, string>();
  for (const [name, { line, switches: below }] of switches)
    for (const child of below) {
      if (!switches.has(child)) throw new Unreadable(`line ${line}: there is no switch ${child}`);
      const other = parents.get(child);
      if (other !== undefined) throw new Unreadable(`line ${line}: ${child} is below ${other} and below ${name}`);
      parents.set(child, name);
    }
  const above = new Map<string, readonly string[]>();
  for (const [name, { line, nodes }] of switches) {
    const path = nodes.length === 0 ? [] : pathTo(name, parents, line);
    for (const node of nodes) {
      if (above.has(node)) throw new Unreadable(`line ${line}: ${node} is below two switches`);
      above.set(node, path);
    }
  }
  const depths = new Set([...above.values()].map(({ length }) => length));
  if (depths.size > 1)
    throw new Unreadable(
      `nodes have ${[...depths].toSorted((left, right) => left - right).join(" or ")} switches above them; all need the same number`,
    );
  const [depth = 0] = depths;
  const levels = levelNames[depth];
  if (levels === undefined)
    throw new Unreadable(`the tree has ${depth} levels of switches; at most ${levelNames.length - 1} are read`);
  return { levels, above };
}

function switchesIn(text: string): ReadonlyMap<string, Switch> {
  const switches = new Map<string, Switch>();
  const lines = text.split(/\r?\n/);
  // A line that ends with a backslash goes on in the next one. Its number stays that of the first.
  for (let index = lines.length - 2; index >= 0; index--) {
    const line = lines[index] ?? "";
    if (line.endsWith("\\")) lines.splice(index, 2, `${line.slice(0, -1)} ${lines[index + 1] ?? ""}`, "");
  }
  for (const [index, raw] of lines.entries()) {
    const line = raw.replace(/#.*$/, "").trim();
    if (line === "") continue;
    const fields = new Map(
      [...line.matchAll(/(\w+)=(\S*)/g)].map(([, key = "", value = ""]) => [key.toLowerCase(), value]),
    );
    const name = fields.get("switchname");
    if (name === undefined)
      throw new Unreadable(`line ${index + 1}: expected SwitchName=, got ${JSON.stringify(line.slice(0, 80))}`);
    const listOf = (key: string): readonly string[] => hostNames(fields.get(key) ?? "");
    for (const each of hostNames(name)) {
      if (switches.has(each)) throw new Unreadable(`line ${index + 1}: the switch ${each} is stated twice`);
      switches.set(each, { line: index + 1, nodes: listOf("nodes"), switches: listOf("switches") });
    }
  }
  return switches;
}

/** The switch and those above it, widest first. */
function pathTo(name: string, parents: ReadonlyMap<string, string>, line: number): readonly string[] {
  const path = [name];
  for (let at = parents.get(name); at !== undefined; at = parents.get(at)) {
    if (path.includes(at)) throw new Unreadable(`line ${line}: the switches above ${name} form a circle`);
    path.unshift(at);
  }
  return path;
}
