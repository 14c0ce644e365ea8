import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { documentJsonSchema } from "@headroom/protocol";

const file = new URL("../../../schemas/headroom.schema.json", import.meta.url);

it("schemas/headroom.schema.json is what `headroom schema` prints (write it anew with that)", () => {
  expect(readFileSync(file, "utf8")).toBe(`${JSON.stringify(documentJsonSchema(), null, 2)}\n`);
});
