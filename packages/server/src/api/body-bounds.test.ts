import { limits } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { BODY_VALUES_MAX, OBJECT_FIELDS_MAX, excessIn } from "./body-bounds.ts";

const fields = (count: number, value = "0"): string =>
  `{${Array.from({ length: count }, (_, index) => `"key-${index}":${value}`).join(",")}}`;
const list = (count: number, item: string): string => `[${Array<string>(count).fill(item).join(",")}]`;
const [most, tooMany] = [OBJECT_FIELDS_MAX, OBJECT_FIELDS_MAX + 1];
const ofFields = /object with more than 1024 fields/;
const ofValues = /more than 150000 values/;

/** Bodies by name, with the expected refusal. Each was parsed and validated to its end before. */
const bodies: readonly (readonly [name: string, text: string, refusal: RegExp | null])[] = [
  ["as many fields as allowed", fields(most), null],
  ["one field more", fields(tooMany), ofFields],
  ["85,000 fields", fields(85_000), ofFields],
  ["too many fields of text", fields(tooMany, '"x"'), ofFields],
  ["too many fields of lists", fields(tooMany, "[]"), ofFields],
  ["too many fields of objects", fields(tooMany, "{}"), ofFields],
  ["too many fields in a field", `{"policy":${fields(tooMany)}}`, ofFields],
  ["too many fields in a list", `{"workloads":[{},${fields(tooMany)}]}`, ofFields],
  ["too many fields after large objects", `[${fields(most)},${fields(most)},${fields(tooMany)}]`, ofFields],
  ["many objects with as many fields as allowed", list(50, fields(most)), null],
  ["too many fields after an object in a field", `{"a":${fields(most)},${fields(tooMany).slice(1)}`, ofFields],
  ["too many fields before the end is missing", fields(tooMany).slice(0, -1), ofFields],
  ["too many fields with spaces", fields(tooMany).replaceAll(",", " ,\n "), ofFields],
  ["too many fields in depth", "[".repeat(500) + fields(tooMany), ofFields],
  ["labels of many nodes", `{"pools":[{"nodeLabels":${fields(20_000, "{}")}}]}`, null],
  ["labels of many nodes with spaces", `{"pools":[{"nodeLabels" : ${fields(20_000, "{}")}}]}`, null],
  ["labels of too many nodes", `{"pools":[{"nodeLabels":${fields(limits.LABELLED_NODES_MAX + 1, "{}")}}]}`, ofFields],
  ["too many fields beside the labels of nodes", `{"nodeLabels":{},${fields(tooMany).slice(1)}`, ofFields],
  ["too many fields below the labels of nodes", `{"nodeLabels":{"n":${fields(tooMany)}}}`, ofFields],
  ["too many fields in a list named nodeLabels", `{"nodeLabels":[${fields(tooMany)}]}`, ofFields],
  ["a value nodeLabels before too many fields", `["nodeLabels",${fields(tooMany)}]`, ofFields],
  ["a long list", list(100_000, "0"), null],
  ["too many values in a list", list(BODY_VALUES_MAX + 1, "0"), ofValues],
  ["too many empty lists", list(BODY_VALUES_MAX, "[]"), ofValues],
  ["too many empty objects", list(BODY_VALUES_MAX, "{}"), ofValues],
  ["too many values in many lists", list(200, list(1_000, "0")), ofValues],
  ["too many open lists", "[".repeat(BODY_VALUES_MAX + 1), ofValues],
  ["commas in text", JSON.stringify([",".repeat(500_000)]), null],
  ["brackets in text", JSON.stringify({ run: "{[".repeat(200_000) }), null],
  ["escaped quotes in text", JSON.stringify({ run: '",'.repeat(200_000) }), null],
  ["escaped backslashes in text", JSON.stringify({ run: "\\,".repeat(200_000) }), null],
  ["text without an end", `{"run":"${",".repeat(500_000)}`, null],
  ["a closing bracket too many", `]]]]${fields(tooMany)}`, ofFields],
];

describe("the bounds of a body's text", () => {
  it.for(bodies.map(([name, text, refusal]) => ({ name, text, refusal })))("for $name", ({ text, refusal }) => {
    const excess = excessIn(text);
    if (refusal === null) expect(excess).toBeNull();
    else expect(excess).toMatch(refusal);
  });
});
