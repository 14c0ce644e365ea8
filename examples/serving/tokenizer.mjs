// The byte tokenizer of the quickstart's GGUF files. It also decodes the tokens of other files with GPT-2's byte alphabet.
import { byteAlphabet } from "../quickstart/gguf.mjs";
const CONTROL = 3; // llama_token_type

/** `bytesOf(token)`, `isEnd(token)` and, where every token is a byte, `encode(text)`. */
export function tokenizerOf({ keys, path }) {
  if (keys.get("tokenizer.ggml.model") !== "gpt2")
    throw new Error(`${path}: only tokenizers of the kind "gpt2" are supported`);
  const tokens = keys.get("tokenizer.ggml.tokens");
  const types = keys.get("tokenizer.ggml.token_type") ?? [];
  const byteOf = new Map(byteAlphabet().map((character, byte) => [character, byte]));
  const pieces = tokens.map((token, i) => {
    if (types[i] === CONTROL) return Buffer.alloc(0);
    return Buffer.from(Array.from(token, (character) => byteOf.get(character) ?? 0x3f));
  });
  const end = keys.get("tokenizer.ggml.eos_token_id");
  const isByteTokenizer = pieces.slice(0, 256).every((piece, byte) => piece.length === 1 && piece[0] === byte);
  return {
    bytesOf: (token) => pieces[token] ?? Buffer.alloc(0),
    isEnd: (token) => token === end,
    encode: isByteTokenizer ? (text) => Array.from(Buffer.from(text)) : undefined,
  };
}
