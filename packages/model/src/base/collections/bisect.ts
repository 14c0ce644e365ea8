/**
 * The first index after `fails` for which `holds` is true, by bisection. Precondition: `holds` is false for `fails` and
 * true for `passes`, and changes only once between them. `holds` is not called for `fails` and `passes` themselves.
 */
export function bisect(fails: number, passes: number, holds: (index: number) => boolean): number {
  let low = fails;
  let high = passes;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
