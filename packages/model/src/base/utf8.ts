/**
 * UTF-8 by the platform's own coder, which is the same in every engine and ten times faster than one in JavaScript. It
 * is no I/O; it is declared by hand because the pure packages compile without any platform's types.
 */
declare const TextEncoder: new () => {
  encode(text: string): Uint8Array;
  encodeInto(text: string, bytes: Uint8Array): { readonly written: number };
};
declare const TextDecoder: new (
  label: "utf-8",
  options: { readonly ignoreBOM: boolean },
) => { decode(bytes: Uint8Array): string };

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Lone surrogates become U+FFFD. */
export const utf8Encode = (text: string): Uint8Array => encoder.encode(text);

/** Malformed input gives U+FFFD; a byte-order mark is kept. */
export const utf8Decode = (bytes: Uint8Array): string => decoder.decode(bytes);

/**
 * Writes the text to the front of `bytes`, which must have three bytes for each UTF-16 unit; returns the bytes written.
 */
export const utf8EncodeInto = (text: string, bytes: Uint8Array): number => encoder.encodeInto(text, bytes).written;
