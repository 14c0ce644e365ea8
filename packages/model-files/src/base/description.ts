/** The answer to a read of a model file: tensors and the values of the header. */

export interface TensorDescription {
  readonly name: string;
  /** The format's own name of the type: `BF16`, `Q4_K`, `FLOAT16`. */
  readonly type: string;
  readonly shape: readonly number[];
  readonly parameters: number;
  /** `null`: the size of the type is not known. */
  readonly bytes: number | null;
}

export type ModelFormat = "safetensors" | "gguf" | "onnx";

export interface ModelDescription {
  readonly format: ModelFormat;
  /** Size of the file. */
  readonly bytes: number;
  readonly architecture: string | null;
  readonly name: string | null;
  readonly contextLength: number | null;
  readonly parameters: number;
  readonly tensors: readonly TensorDescription[];
  /** Single values of the header, by key. */
  readonly metadata: Readonly<Record<string, string | number | boolean>>;
  /** Files beside this one that hold data of its tensors. */
  readonly externalFiles: readonly string[];
}

/** Tensors, parameters and bytes of one type. */
export interface TypeTotal {
  readonly type: string;
  readonly tensors: number;
  readonly parameters: number;
  readonly bytes: number | null;
}

/** By parameters, largest first; then by name of the type. */
export function totalsByType(tensors: readonly TensorDescription[]): readonly TypeTotal[] {
  const totals = new Map<string, TypeTotal>();
  for (const { type, parameters, bytes } of tensors) {
    const before = totals.get(type) ?? { type, tensors: 0, parameters: 0, bytes: 0 };
    totals.set(type, {
      type,
      tensors: before.tensors + 1,
      parameters: before.parameters + parameters,
      bytes: before.bytes === null || bytes === null ? null : before.bytes + bytes,
    });
  }
  return [...totals.values()].toSorted(
    (left, right) => right.parameters - left.parameters || (left.type < right.type ? -1 : 1),
  );
}
