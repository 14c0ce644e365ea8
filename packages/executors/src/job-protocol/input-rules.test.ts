import { readStore, StoreSet } from "@headroom/stores";
import type { LaunchArtifact, LaunchGang } from "@headroom/model";
import { expect, it } from "vitest";
import { refuseInputs } from "./input-rules.ts";

const vault = readStore({
  kind: "store",
  name: "vault",
  type: "shared",
  path: "/srv/vault",
  writers: ["nlp"],
  readers: [],
  rules: ["restricted"],
});
if (!vault.ok) throw new Error(JSON.stringify(vault));
const stores = new StoreSet({
  declarations: () => [vault.declaration],
  readSecret: () => "",
  stateDir: "/nonexistent",
});

function launch(team: string, rule?: string, more: { inputs?: string[]; artifacts?: LaunchArtifact[] } = {}) {
  const data = { ...(rule === undefined ? {} : { rule }), inputs: more.inputs ?? [] };
  return { spec: { team, data }, artifacts: more.artifacts ?? [] } as unknown as LaunchGang;
}

const version: LaunchArtifact = {
  name: "model:chat",
  version: "nlp/model:chat@1",
  path: "/data/chat",
  rule: "restricted",
};

it.for([
  [
    "a version whose rule the workload lacks",
    launch("nlp", undefined, { artifacts: [version] }),
    "Set data.rule: restricted",
  ],
  [
    "bytes of a store with a rule",
    launch("nlp", undefined, { inputs: ["file:///srv/vault/a"] }),
    "has data with rules",
  ],
  [
    "bytes of another team's store",
    launch("vision", "restricted", { inputs: ["file:///srv/vault/a"] }),
    "not open to the team vision",
  ],
] as const)("refuses %s", ([, gang, message]) => {
  expect(() => refuseInputs(gang, stores)).toThrow(message);
});

it.for([
  "/srv/vault/a",
  "file:///srv/x/../vault/a",
  "file:///srv//vault/a",
  "file:///srv/%76ault/a",
  "file:/srv/vault/a",
  "FILE:///srv/vault/a",
  "file://localhost/srv/vault/a",
])("knows the store by %s too", (input) => {
  expect(() => refuseInputs(launch("nlp", undefined, { inputs: [input] }), stores)).toThrow("has data with rules");
});

it("lets work with the rule read", () => {
  expect(() =>
    refuseInputs(
      launch("nlp", "restricted", { artifacts: [version], inputs: ["file:///srv/vault/a", "some-name"] }),
      stores,
    ),
  ).not.toThrow();
});

it("compares rules of versions where no stores are declared", () => {
  expect(() => refuseInputs(launch("nlp", undefined, { artifacts: [version] }), undefined)).toThrow(
    "data rule restricted",
  );
});
