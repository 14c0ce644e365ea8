/** Quantities of Kubernetes, such as `500m`, `64Gi` and `1e3` (k8s.io/apimachinery/pkg/api/resource). */
const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Thousands of pods state few different quantities. */
const known = new Map<string, number | null>();
const KNOWN_MAX = 10_000;

/** The amount; `null`: the text is no quantity. */
export function quantityOf(text = ""): number | null {
  const before = known.get(text);
  if (before !== undefined) return before;
  if (known.size >= KNOWN_MAX) known.clear();
  const amount = readQuantity(text);
  known.set(text, amount);
  return amount;
}

function readQuantity(text: string): number | null {
  const match = /^([+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)(n|u|m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$/.exec(text);
  if (match === null) return null;
  const amount = Number(match[1]) * (FACTORS[match[2] ?? ""] ?? 1);
  return Number.isFinite(amount) ? amount : null;
}

const whole = (amount: number): number => Math.min(Math.max(Math.floor(amount), 0), Number.MAX_SAFE_INTEGER);

export const countOf = (text: string | undefined): number => whole(quantityOf(text) ?? 0);
export const coresMilliOf = (text: string | undefined): number => whole((quantityOf(text) ?? 0) * 1_000 + 1e-6);
export const memoryMibOf = (text: string | undefined): number => whole((quantityOf(text) ?? 0) / 2 ** 20);
