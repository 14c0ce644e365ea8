import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHAIN_START, chainAfter, hashInto, hashText, lanesFromHex, lanesToHex } from "./hash.ts";

type Seeds = readonly [bigint, bigint, bigint, bigint];

const WORD = 0xffff_ffffn;
const rotate = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (32n - by))) & WORD;
const finalMix = (value: bigint): bigint => {
  let h = value;
  h = ((h ^ (h >> 16n)) * 0x85ebca6bn) & WORD;
  h = ((h ^ (h >> 13n)) * 0xc2b2ae35n) & WORD;
  return h ^ (h >> 16n);
};
const CONSTANTS = [0x239b961bn, 0xab0e9789n, 0x38b34ae5n, 0xa1e38b93n] as const;
const KEY_TURNS = [15n, 16n, 17n, 18n] as const;
const LANE_TURNS = [19n, 17n, 15n, 13n] as const;
const ADDENDS = [0x561ccd1bn, 0x0bcaa747n, 0x96cd1c35n, 0x32ac3b17n] as const;

/** MurmurHash3_x86_128 as in smhasher, byte by byte in big integers; one seed for each lane. */
function murmur128(bytes: Uint8Array, seeds: Seeds, length: number): string {
  const lanes = [...seeds];
  const at = (index: number): bigint => BigInt(bytes[index] ?? 0);
  const word = (index: number): bigint =>
    at(index) | (at(index + 1) << 8n) | (at(index + 2) << 16n) | (at(index + 3) << 24n);
  const mixed = (index: number, lane: number): bigint => {
    const key = (word(index) * (CONSTANTS[lane] as bigint)) & WORD;
    return (rotate(key, KEY_TURNS[lane] as bigint) * (CONSTANTS[(lane + 1) % 4] as bigint)) & WORD;
  };
  const blocks = Math.floor(bytes.length / 16);
  for (let block = 0; block < blocks; block++) {
    for (let lane = 0; lane < 4; lane++) {
      let h = (lanes[lane] as bigint) ^ mixed(block * 16 + lane * 4, lane);
      h = (rotate(h, LANE_TURNS[lane] as bigint) + (lanes[(lane + 1) % 4] as bigint)) & WORD;
      lanes[lane] = (h * 5n + (ADDENDS[lane] as bigint)) & WORD;
    }
  }
  for (let lane = 3; lane >= 0; lane--) {
    const from = blocks * 16 + lane * 4;
    if (from < bytes.length) lanes[lane] = (lanes[lane] as bigint) ^ mixed(from, lane);
  }
  let mix = lanes.map((lane) => lane ^ BigInt(length));
  const spread = (): void => {
    const sum = mix.reduce((total, lane) => (total + lane) & WORD, 0n);
    mix = [sum, ...mix.slice(1).map((lane) => (lane + sum) & WORD)];
  };
  spread();
  mix = mix.map(finalMix);
  spread();
  return mix.map((lane) => lane.toString(16).padStart(8, "0")).join("");
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const anyText = fc.array(fc.nat({ max: 0xffff }), { maxLength: 60 }).map((units) => String.fromCharCode(...units));
const anyWord = fc.nat({ max: 0xffff_ffff });

describe("the reference that these tests compare with", () => {
  /** Published with murmurHash3js (Karan Lyons), which hashes Latin-1 bytes under seed 0. */
  it.each([
    ["", "00000000000000000000000000000000"],
    ["I will not buy this tobacconist's, it is scratched.", "9b5b7ba2ef3f7866889adeaf00f3f98e"],
  ])("gives the known hash of %j", (text, hash) => {
    const bytes = new TextEncoder().encode(text);
    expect(murmur128(bytes, [0n, 0n, 0n, 0n], bytes.length)).toBe(hash);
  });
});

describe("hashing", () => {
  it("is MurmurHash3 x86-128 of the UTF-8 bytes, with a seed for each lane", () => {
    fc.assert(
      fc.property(anyText, anyWord, anyWord, anyWord, anyWord, (text, a, b, c, d) => {
        const lanes = { a: a | 0, b: b | 0, c: c | 0, d: d | 0 };
        hashInto(lanes, text);
        const seeds: Seeds = [BigInt(a), BigInt(b), BigInt(c), BigInt(d)];
        expect(lanesToHex(lanes)).toBe(murmur128(bytesOf(text), seeds, bytesOf(text).length));
      }),
      { numRuns: 500 },
    );
  });

  it("makes room for long texts, and forgets them", () => {
    const long = "h\u{1f600}".repeat(50_000);
    expect(hashText(long)).toBe(murmur128(bytesOf(long), [0n, 0n, 0n, 0n], bytesOf(long).length));
    expect(hashText("")).toBe("00000000000000000000000000000000");
  });

  it("covers every length around a block", () => {
    for (let length = 0; length <= 33; length++) {
      const text = "aé界x\u{1f600}yz0123456789".repeat(3).slice(0, length);
      expect(hashText(text)).toBe(murmur128(bytesOf(text), [0n, 0n, 0n, 0n], bytesOf(text).length));
    }
  });

  it("never changes: journals and digests of yesterday depend on it", () => {
    expect(hashText("Headroom")).toBe("f276e49d4f7721109b8d28679b8d2867");
    expect(chainAfter(chainAfter(CHAIN_START, "[]"), "[{}]")).toBe("0f3ceae42d4290842d4290842d429084");
  });

  it("reads back what it writes", () => {
    fc.assert(
      fc.property(anyWord, anyWord, anyWord, anyWord, (a, b, c, d) => {
        const lanes = { a: a | 0, b: b | 0, c: c | 0, d: d | 0 };
        expect(lanesFromHex(lanesToHex(lanes))).toEqual(lanes);
        expect(lanesToHex(lanes)).toMatch(/^[0-9a-f]{32}$/);
      }),
    );
  });

  it("chains: the order of the groups and the cut between them are part of it", () => {
    const after = (...texts: readonly string[]): string => texts.reduce(chainAfter, CHAIN_START);
    expect(new Set([after("a", "b"), after("b", "a"), after("ab"), after("a", "b", ""), after("a")]).size).toBe(5);
  });
});
