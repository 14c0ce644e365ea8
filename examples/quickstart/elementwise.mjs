// The layers between the matrix products, forwards and backwards, as plain loops over rows of numbers.
export const [EPSILON, ROPE_BASE] = [1e-5, 10_000];

/**
 * Cosine and sine for each pair of numbers of a head at each position. Angles are multiplied in float32 as in
 * llama.cpp; exact angles would give other scores.
 */
export function rotations(context, head) {
  const scale = Math.fround(ROPE_BASE ** (-2 / head));
  return Array.from({ length: context }, (_, position) => {
    const row = new Float32Array(head);
    for (let i = 0, angle = position; i < head; i += 2, angle = Math.fround(angle * scale))
      row.set([Math.cos(angle), Math.sin(angle)], i);
    return row;
  });
}

/**
 * Rotary position embedding (RoPE; Su et al., 2021): rotates the pairs (0, 1), (2, 3), … of every head by the angles of
 * the row's position. `direction` -1 rotates back. Positions restart with every sequence.
 */
export function rotate(vector, angles, rows, direction) {
  const width = vector.length / rows;
  for (let row = 0; row < rows; row++)
    rotateRow(vector.subarray(row * width, (row + 1) * width), angles[row % angles.length], direction);
}

/** Applies RoPE to one row, at a position with these angles. */
export function rotateRow(row, angles, direction) {
  for (let i = 0, pair = 0; i < row.length; i += 2, pair = (pair + 2) % angles.length) {
    const x = row[i];
    const y = row[i + 1];
    const cos = angles[pair];
    const sin = angles[pair + 1] * direction;
    row[i] = x * cos - y * sin;
    row[i + 1] = x * sin + y * cos;
  }
}

/** Transposes: to[j][i] = from[i][j]. A row of `from` has `stride` numbers. */
export function transposeInto(to, from, rows, columns, stride = columns) {
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) to[j * rows + i] = from[i * stride + j];
}

/** act = silu(gate) · up. Stores the sigmoid of the gate in `open`. */
export function swish(arena, { gate, up, open, act }) {
  for (let i = 0; i < gate.length; i++) open[i] = -gate[i];
  arena.exp(open, open.length);
  for (let i = 0; i < gate.length; i++) {
    open[i] = 1 / (1 + open[i]);
    act[i] = gate[i] * open[i] * up[i];
  }
}

/** Replaces the gradient of `act` by the gradient of `up`, and computes the gradient of `gate`. */
export function swishBack({ gate, up, open }, dact, dgate) {
  for (let i = 0; i < dact.length; i++) {
    const opened = gate[i] * open[i];
    dgate[i] = dact[i] * up[i] * (open[i] + opened * (1 - open[i]));
    dact[i] *= opened;
  }
}

/** Computes the softmax of the first `count` numbers of a row times `scale`. The rest of the row becomes zero. */
export function softmax(arena, row, count, scale) {
  let top = -Infinity;
  for (let j = 0; j < count; j++) if (row[j] > top) top = row[j];
  for (let j = 0; j < count; j++) row[j] = (row[j] - top) * scale;
  arena.exp(row, Math.ceil(count / 4) * 4);
  let sum = 0;
  for (let j = 0; j < count; j++) sum += row[j];
  for (let j = 0; j < count; j++) row[j] /= sum;
  for (let j = count; j < row.length; j++) row[j] = 0;
}

/** Replaces the gradient of a softmax's output (`slopes`) by the gradient of its input, before `scale`. */
export function softmaxBack(slopes, weights, scale) {
  let sum = 0;
  for (let j = 0; j < slopes.length; j++) sum += slopes[j] * weights[j];
  for (let j = 0; j < slopes.length; j++) slopes[j] = weights[j] * (slopes[j] - sum) * scale;
}

/** RMSNorm: divides each row by its root mean square and multiplies by the weights (Zhang and Sennrich, 2019). */
export function normalise({ out, scale }, x, weights) {
  const width = weights.length;
  for (let row = 0, at = 0; at < x.length; row++, at += width) {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += x[at + k] * x[at + k];
    const by = (scale[row] = 1 / Math.sqrt(sum / width + EPSILON));
    for (let k = 0; k < width; k++) out[at + k] = x[at + k] * by * weights[k];
  }
}

/**
 * Backward pass of RMSNorm. From `dn`, it adds the gradient of the input to `dx`, and the gradient of the weights to
 * their gradient.
 */
export function normaliseBack(dx, dn, { scale }, x, { value, gradient }) {
  const width = value.length;
  for (let row = 0, at = 0; at < x.length; row++, at += width) {
    const by = scale[row];
    let along = 0;
    for (let k = 0; k < width; k++) {
      along += dn[at + k] * value[k] * x[at + k];
      gradient[k] += dn[at + k] * x[at + k] * by;
    }
    along *= (by * by) / width;
    for (let k = 0; k < width; k++) dx[at + k] += by * (dn[at + k] * value[k] - x[at + k] * along);
  }
}
