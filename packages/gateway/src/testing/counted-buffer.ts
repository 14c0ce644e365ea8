/** Counts what code reads from a buffer: its bytes one by one, and the methods that it calls. */
export interface CountedBuffer {
  readonly bytes: Buffer;
  readonly reads: () => number;
  /** How many of the reads are calls of methods, each of which costs as much as about thirty bytes. */
  readonly calls: () => number;
}

export function countedBuffer(bytes: Buffer): CountedBuffer {
  let count = 0;
  let callCount = 0;
  const proxy = new Proxy(bytes, {
    get(target, key) {
      if (key === "length") return target.length;
      count++;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      callCount++;
      return value.bind(target) as unknown;
    },
  });
  return { bytes: proxy, reads: () => count, calls: () => callCount };
}
