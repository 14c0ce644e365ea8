/** Declarations of stores that would take bytes out of the places of their data rule. */
import { readStore } from "@headroom/stores";
import type { StoreDeclaration } from "@headroom/stores";
import { expect, it } from "vitest";
import { bytesOutside, exposedBy } from "./stores.ts";

function store(name: string, at: string, rules: readonly string[] = []): StoreDeclaration {
  const reading = readStore({ kind: "store", name, type: "shared", path: at, rules });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.declaration;
}

const lake = store("lake", "/lake");
const vault = store("vault", "/lake/vault", ["secret"]);

const holding = (uri: string, more: object = {}) => {
  const version = { id: "dataset:default/names@1", rule: "secret", places: [{ store: "s", uri, state: "declared" }] };
  const artifactVersions = new Map([["dataset:default/names@1", { ...version, ...more }]]);
  return { artifactVersions } as unknown as Parameters<typeof bytesOutside>[0];
};
const inVault = holding("file:///lake/vault/x");

it.each([
  ["takes the rule from a store", store("vault", "/lake/vault"), inVault, "would hold versions"],
  ["moves a store, whose bytes then lie in the one around it", store("vault", "/other", ["secret"]), inVault, "lake"],
  [
    "declares a store within the store",
    store("inner", "/lake/vault/inner"),
    holding("file:///lake/vault/inner/x"),
    "inner",
  ],
  [
    "takes a version without a rule of its own out of that of its store",
    store("inner", "/lake/vault/inner"),
    holding("file:///lake/vault/inner/x", { rule: undefined }),
    "(secret)",
  ],
] as const)("is refused if it %s", (_, added, state, message) => {
  expect(bytesOutside(state, [lake, vault], added)).toContain(message);
});

it.each([
  ["it only adds a rule", store("vault", "/lake/vault", ["secret", "more"]), inVault],
  [
    "the version is deleted",
    store("inner", "/lake/vault/inner"),
    holding("file:///lake/vault/inner/x", { deleted: {} }),
  ],
  ["the version lay outside before", store("lake", "/lake"), holding("file:///lake/x")],
  ["the version lay in no store before", store("new", "/new"), holding("file:///new/x")],
] as const)("is accepted if %s", (_, added, state) => {
  expect(bytesOutside(state, [lake, vault], added)).toBeNull();
});

it("names the store around a removed one only if it has other rules", () => {
  expect(exposedBy([lake, vault], "vault")).toContain("lacks the rules secret");
  expect(exposedBy([store("lake", "/lake", ["secret"]), vault], "vault")).toBeNull();
  expect(exposedBy([lake, vault], "lake")).toBeNull();
});
