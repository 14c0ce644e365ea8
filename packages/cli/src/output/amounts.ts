/** Formats amounts and instants for people. */

/** A duration such as `2h13m`, in its two largest units. */
export function shortDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const units = [
    ["d", 86_400],
    ["h", 3_600],
    ["m", 60],
    ["s", 1],
  ] as const;
  const first = units.findIndex(([, size]) => seconds >= size);
  const [name, size] = units[first] ?? ["s", 1];
  const next = units[first + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[1]);
  return `${Math.floor(seconds / size)}${name}${rest > 0 && next !== undefined ? `${rest}${next[0]}` : ""}`;
}

export function ago(atMs: number, nowMs: number): string {
  return `${shortDuration(nowMs - atMs)} ago`;
}

/** An instant as ISO 8601 to the second, in UTC. */
export function instant(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d{3}Z$/, "Z");
}

/** `1 worker`, `2 workers`. */
export function plural(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}

/** `23.4 GiB` from MiB. */
export function memoryText(mib: number): string {
  if (mib < 1_024) return `${mib} MiB`;
  const gib = mib / 1_024;
  return gib < 1_024 ? `${trimmed(gib)} GiB` : `${trimmed(gib / 1_024)} TiB`;
}

/** An amount such as `0.5` or `4`. It is exact, because amounts have a resolution of one thousandth. */
export function coresText(coresMilli: number): string {
  return String(coresMilli / 1_000);
}

function trimmed(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}
