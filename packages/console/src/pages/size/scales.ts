/** Scales of sliders. Every position is a round number, and equal distances are equal ratios. */

/** 1, 2, 4 … up to `most`. */
export function doublings(least: number, most: number): readonly number[] {
  const steps: number[] = [];
  for (let value = least; value <= most; value *= 2) steps.push(value);
  return steps;
}

/** The numbers 1, 2, 5, 10, 20 … between two powers of ten. */
export function rounds(least: number, most: number): readonly number[] {
  const steps: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(least)); decade <= most; decade *= 10) {
    for (const factor of [1, 2, 5]) {
      const value = Number((decade * factor).toPrecision(1));
      if (value >= least * 0.999 && value <= most * 1.001) steps.push(value);
    }
  }
  return steps;
}

/** A number with three significant digits and a unit prefix, such as 15T, 8.03B, 512. */
export function amountText(value: number): string {
  const units = ["", "K", "M", "B", "T"];
  let index = 0;
  let scaled = value;
  // Numbers up to 9,999 get no prefix, because it would not make them shorter.
  while (Math.abs(scaled) >= (index === 0 ? 10_000 : 1000) && index < units.length - 1) {
    scaled /= 1000;
    index += 1;
  }
  const digits = Math.abs(scaled) >= 1000 ? String(Math.round(scaled)) : String(Number(scaled.toPrecision(3)));
  return `${digits}${units[index] ?? ""}`;
}

export const percentText = (share: number): string => `${Number((share * 100).toPrecision(3))}%`;

/** Seconds as a duration with at most two units. */
export function secondsText(seconds: number): string {
  if (seconds < 0.1) return `${amountText(seconds * 1000)} ms`;
  if (seconds < 120) return `${amountText(seconds)} s`;
  if (seconds < 7200) return `${amountText(seconds / 60)} min`;
  if (seconds < 172_800) return `${amountText(seconds / 3600)} h`;
  return `${amountText(seconds / 86_400)} days`;
}

export const gibText = (bytes: number): string => `${amountText(bytes / 2 ** 30)} GiB`;
