/** Reads the header of a model file of any known format. */
import type { ByteSource } from "./base/byte-reader.ts";
import { refuse } from "./base/bounds.ts";
import type { ModelDescription, ModelFormat } from "./base/description.ts";
import { readGguf } from "./gguf/read-gguf.ts";
import { readOnnx } from "./onnx/read-onnx.ts";
import { readSafetensors } from "./safetensors/read-safetensors.ts";

const readers: Readonly<Record<ModelFormat, (source: ByteSource) => ModelDescription>> = {
  safetensors: readSafetensors,
  gguf: readGguf,
  onnx: readOnnx,
};

/** `fileName` decides if the first bytes do not. */
export function readModelFile(source: ByteSource, fileName: string): ModelDescription {
  return readers[formatOf(source, fileName)](source);
}

function formatOf(source: ByteSource, fileName: string): ModelFormat {
  const head = source.bytes(0, Math.min(source.size, 9));
  const startsWith = (...bytes: readonly number[]): boolean => bytes.every((byte, index) => head[index] === byte);
  if (source.size < 8) refuse(`the file has ${source.size} bytes, fewer than any model`);
  if (startsWith(0x47, 0x47, 0x55, 0x46)) return "gguf";
  if (startsWith(0x50, 0x4b, 3, 4) || startsWith(0x80, 2) || /\.(?:pt|pth|ckpt|pkl|bin)$/i.test(fileName))
    refuse("this is a pickle of PyTorch. It is not read, because reading it runs code; convert it to safetensors.");
  const extension = /\.(?<name>safetensors|gguf|onnx)$/i.exec(fileName)?.groups?.["name"]?.toLowerCase();
  if (extension !== undefined) return extension as ModelFormat;
  if (head[8] === 0x7b) return "safetensors";
  // The first field of an ONNX model is ir_version.
  return head[0] === 8 ? "onnx" : refuse("the file is none of safetensors, GGUF and ONNX");
}
