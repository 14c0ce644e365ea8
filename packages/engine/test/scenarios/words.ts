/** Words of the scenario language: `name key=value key=value`, amounts with units. */
export interface Words {
  readonly plain: readonly string[];
  readonly fields: ReadonlyMap<string, string>;
}

export function wordsOf(text: string): Words {
  const plain: string[] = [];
  const fields = new Map<string, string>();
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const at = word.indexOf("=");
    if (at > 0) fields.set(word.slice(0, at), word.slice(at + 1));
    else plain.push(word);
  }
  return { plain, fields };
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `1h30m`, `250ms`, `0` as ms. */
export function durationMs(text: string): number {
  if (text === "0") return 0;
  let sum = 0;
  const rest = text.replaceAll(/(\d+)(ms|s|m|h|d)/g, (_, count: string, unit: string) => {
    sum += Number(count) * (UNITS_MS[unit] ?? Number.NaN);
    return "";
  });
  if (rest !== "") throw new Error(`"${text}" is no duration`);
  return sum;
}

export function durationText(ms: number): string {
  if (ms === 0) return "0s";
  let rest = ms;
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = UNITS_MS[unit] as number;
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}

const UNITS_MIB: Readonly<Record<string, number>> = { MiB: 1, GiB: 1024, TiB: 1024 * 1024 };

export function memoryMib(text: string): number {
  const match = /^(\d+)(MiB|GiB|TiB)$/.exec(text);
  if (match === null) throw new Error(`"${text}" is no amount of memory`);
  return Number(match[1]) * (UNITS_MIB[match[2] as string] as number);
}

/** Reads `H100:8,A100:4` as counts by type. */
export function countsByType(text: string): Readonly<Record<string, number>> {
  if (text === "") return {};
  const pairs = text.split(",").map((pair) => pair.split(":"));
  return Object.fromEntries(pairs.map(([type, count]) => [type as string, Number(count)]));
}
