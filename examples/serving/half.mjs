// Float16 as bits, for versions of Node without Float16Array (before 24).
const single = new Float32Array(1);
const bits = new Uint32Array(single.buffer);

/** The number of 16 bits. */
export function fromHalf(half) {
  const [exponent, fraction] = [(half >> 10) & 31, half & 1023];
  const sign = half & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The 16 bits nearest to a number; of two equally near ones, the even one. */
export function toHalf(value) {
  single[0] = value;
  const sign = (bits[0] >>> 16) & 0x8000;
  const size = Math.abs(single[0]);
  if (Number.isNaN(size)) return 0x7e00;
  if (size >= 65_520) return sign | 0x7c00;
  // Spacing of the float16 numbers near this one: 2 ** -24 below the smallest normal one.
  const exponent = Math.max(-14, ((bits[0] >>> 23) & 255) - 127);
  const steps = size / 2 ** (exponent - 10);
  const below = Math.floor(steps);
  const rest = steps - below;
  const rounded = rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
  // A carry moves into the exponent by itself.
  return sign | (((exponent + 14) << 10) + rounded);
}
