// llama.cpp through node-llama-cpp, behind the same functions as the built-in engine. llama.cpp batches the sequences
// of a context by itself. One thread: two threads on two busy cores are 25 times slower.
import { readGguf } from "./gguf-file.mjs";
import { tokenizerOf } from "./tokenizer.mjs";
const BATCH = 512; // tokens computed together
/** In a variable, so that tools that follow imports do not require this optional package. */
const LIBRARY = "node-llama-cpp";

export async function createLlamaEngine(path, slotCount) {
  const gguf = readGguf(path);
  const { context, vocabulary } = gguf.shape;
  const { getLlama } = await import(LIBRARY);
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: "error" });
  const model = await llama.loadModel({ modelPath: path });
  const options = { threads: 1, batchSize: BATCH, flashAttention: false };
  const contexts = await model.createContext({
    ...options,
    sequences: slotCount,
    // llama.cpp shifts a sequence that fills the context, which changes its last scores. So one token of the context
    // stays unused.
    contextSize: context + 1,
    // With keys and values in float32, scores agree with the trainer to 1e-4; with the default, float16, to 3e-2.
    experimentalKvCacheKeyType: "F32",
    experimentalKvCacheValueType: "F32",
  });
  const sequences = Array.from({ length: slotCount }, () => contexts.getSequence());
  const { encode = (text) => model.tokenize(text), bytesOf, isEnd } = tokenizerOf(gguf);
  let embedder;
  return {
    name: "llama.cpp",
    context,
    vocabulary,
    slotCount,
    bytesOf,
    isEnd: (token) => isEnd(token) || model.isEogToken(token),
    encode,
    async evaluate(slot, tokens) {
      const last = [tokens.at(-1), { generateNext: { logits: true, options: { temperature: 0 } } }];
      const results = await sequences[slot].controlledEvaluate([...tokens.slice(0, -1), last]);
      const logits = new Float32Array(vocabulary).fill(-Infinity);
      for (const [token, value] of results.at(-1).next.logits) logits[token] = value;
      return logits;
    },
    async truncate(slot, length) {
      const end = sequences[slot].nextTokenIndex;
      if (length < end) await sequences[slot].eraseContextTokenRanges([{ start: length, end }]);
    },
    async embed(_slot, tokens) {
      embedder ??= model.createEmbeddingContext({ ...options, contextSize: context + 1 });
      const { vector } = await (await embedder).getEmbeddingFor(tokens);
      return [...vector];
    },
  };
}
