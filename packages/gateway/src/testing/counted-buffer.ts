/** Counts what code reads from a buffer: its bytes one by one, and the methods that it calls. */
export interface CountedBuffer {
  readonly bytes: Buffer;
  readonly reads: () => number;
}

export function countedBuffer(bytes: Buffer): CountedBuffer {
  let count = 0;
  const proxy = new Proxy(bytes, {
    get(target, key) {
      if (key === "length") return target.length;
      count++;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { bytes: proxy, reads: () => count };
}
