/**
 * Plausible prices of an accelerator-hour in US dollars, by family: wide bounds that a list price of any provider has been
 * within, and that a price in another unit (by the node, the day or the month, in cents) leaves. Spot prices may be lower.
 */
const bounds: readonly (readonly [family: RegExp, least: number, most: number])[] = [
  [/\bGB?300|\bB300/, 3, 40],
  [/\bGB?200|\bB200|\bB100/, 2, 30],
  [/\bH200|\bGH200/, 0.9, 16],
  [/\bH100|\bH800|\bH20\b/, 0.7, 15],
  [/\bA100|\bA800/, 0.35, 7],
  [/\bMI3\d\dX?/, 0.7, 15],
  [/\bMI2\d\dX?/, 0.3, 6],
  [/\bV100/, 0.11, 5],
  [/\bL40/, 0.25, 4],
  [/\bRTX[-_ ]?PRO[-_ ]?6000/, 0.3, 5],
  [/\bRTX[-_ ]?5090/, 0.15, 2.5],
  [/\bRTX[-_ ]?4090/, 0.1, 2],
  [/\bRTX[-_ ]?3090/, 0.05, 1.5],
  [/\bRTX[-_ ]?A6000|\bA6000|\bRTX[-_ ]?6000/, 0.2, 3],
  [/\bA40\b/, 0.2, 3],
  [/\bA10G?\b/, 0.1, 3],
  [/\bL4\b/, 0.1, 2.5],
  [/\bT4G?\b/, 0.05, 1.5],
  [/\bP100/, 0.1, 3],
];

/** Anything that is sold as an accelerator. */
const ANY = [0.02, 60] as const;

export function plausiblePrices(accelerator: string): readonly [least: number, most: number] {
  const name = accelerator.toUpperCase();
  const found = bounds.find(([family]) => family.test(name));
  return found === undefined ? ANY : [found[1], found[2]];
}
