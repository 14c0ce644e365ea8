// The vocabulary, in which a token is a byte. Eight additional tokens make the size of the vocabulary a multiple of the
// kernel's eight columns; two of them have a meaning. Files of the corpus end with ASCII's "file separator", which the
// model learns as the end of text.
export const [BEGIN, END, VOCABULARY] = [256, 257, 264];
export const FILE_SEPARATOR = 0x1c;
export const encode = (bytes) => Uint16Array.from(bytes, (byte) => (byte === FILE_SEPARATOR ? END : byte));
export const decode = (tokens) => Buffer.from(tokens.filter((token) => token < 256));
