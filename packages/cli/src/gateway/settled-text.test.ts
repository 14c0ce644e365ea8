import { expect, it } from "vitest";
import { settledText } from "./settled-text.ts";

it("waits until a file that is written in parts is whole", async () => {
  const parts = ["models:", "models: [a]", "models: [a, b]"];
  const read = (): Promise<string> => Promise.resolve(parts.length > 1 ? parts.shift()! : parts[0]!);
  expect(await settledText(read, 1)).toBe("models: [a, b]");
});
