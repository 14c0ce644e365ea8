/**
 * Headers of model files: safetensors, GGUF and ONNX. Files of strangers are read, so every length and count is checked against the
 * file, and no data is read or run. Start with `read-model-file.ts`.
 */
export type { ByteSource } from "./base/byte-reader.ts";
export { ModelFileError } from "./base/bounds.ts";
export { totalsByType, type ModelDescription, type TypeTotal } from "./base/description.ts";
export { readModelFile } from "./read-model-file.ts";
