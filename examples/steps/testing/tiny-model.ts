/** A GGUF file of the quickstart's architecture with random weights. */
import { ggufBytes } from "../../quickstart/gguf.mjs";
import { draw, shapeOf, tensorsOf } from "../../quickstart/model.mjs";

export function tinyModel(): Buffer {
  const recipe = { context: 64, hidden: 64, layers: 2 };
  const tensors: readonly unknown[][] = tensorsOf(shapeOf(recipe));
  const count = tensors.reduce((sum, [, rows, columns]) => sum + Number(rows) * Number(columns), 0);
  return ggufBytes(
    "tiny",
    recipe,
    Float32Array.from({ length: count }, (_, i) => (draw(1, i, 0) - 0.5) * 0.3),
  );
}
