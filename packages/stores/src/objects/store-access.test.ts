/** Rights of teams: reading answers `yes` or the reason, by store, URI and work. */
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { contentRule, plainUri, readingRefusal } from "./store-access.ts";
import { readStore } from "./store-declaration.ts";
import type { PlaceDeclaration } from "./store-declaration.ts";
import { mayWrite } from "./store-rights.ts";

function declared(value: object): PlaceDeclaration {
  const keys = "path" in value ? {} : { accessKey: "env:A", secretKey: "env:B" };
  const reading = readStore({ kind: "store", type: "s3", ...keys, ...value });
  if (!reading.ok || reading.declaration.type === "local") throw new Error(JSON.stringify(reading));
  return reading.declaration;
}

const own = declared({ name: "own", bucket: "own" });
const lake = declared({ name: "lake", bucket: "lake", readers: ["research"], writers: ["ops"] });
const inner = declared({
  name: "inner",
  bucket: "lake",
  prefix: "raw/secret/",
  writers: ["ops"],
  rules: ["restricted"],
});
const open = declared({ name: "open", bucket: "open", readers: ["*"], rules: ["a", "b"] });
const shared = declared({ name: "nfs", type: "shared", path: "/srv/nfs", rules: ["restricted"], readers: ["*"] });
const places = [own, lake, inner, open, shared];

const hex = "0".repeat(64);
const version = (team: string, rule?: string) => ({ kind: "model", team, name: "chat", rule });

it.each([
  // A store without lists is that of the team `default`.
  ["s3://own/x", { team: "default" }, null],
  ["s3://own/x", { team: "research" }, "not open to the team research"],
  // A team includes the teams below it, and no team whose name only begins like it.
  ["s3://lake/x", { team: "research/nlp" }, null],
  ["s3://lake/x", { team: "research2" }, "not open to the team research2"],
  ["s3://lake/x", { team: "ops" }, null],
  ["s3://lake/x", { team: "default" }, "not open to the team default"],
  // A directory above a store contains its bytes.
  ["s3://lake/raw", { team: "ops", rule: "restricted" }, "s3://lake/raw contains the store inner"],
  ["s3://lake/raw/secret/x", { team: "research" }, "The store inner is not open"],
  ["s3://lake/raw/secret/x", { team: "ops" }, "data with rules (restricted), and the workload has none"],
  ["s3://lake/raw/secret/x", { team: "ops", rule: "restricted" }, null],
  ["s3://lake/raw2", { team: "research" }, null],
  ["s3://open/x", { team: "any", rule: "c" }, "data with rules (a, b), and the workload has the rule c"],
  ["s3://open/x", { team: "any", rule: "a" }, "a URI does not say which one its bytes have"],
  // Uploaded artifacts are read by the name of a version of theirs.
  ["s3://lake/artifacts/model/research/chat/12", { team: "research" }, "Name the version"],
  ["s3://lake/artifacts", { team: "research" }, "Name the version"],
  ["s3://lake//artifacts/model/research/chat/12", { team: "research" }, "Name the version"],
  [`s3://lake/artifacts/model/research/chat/${hex}`, { team: "research", version: version("research") }, null],
  [`s3://lake/artifacts/model/research/chat/${hex}.7`, { team: "research", version: version("research") }, null],
  // The team research/chat has an artifact there, not the team research.
  [`s3://lake/artifacts/model/research/chat/x/${hex}`, { team: "research", version: version("research") }, "Name the"],
  [`s3://lake/artifacts/model/ops/chat/${hex}`, { team: "research", version: version("research") }, "Name the version"],
  // The rule of a version counts in place of those of its store.
  ["s3://open/x", { team: "any", version: version("any") }, "the workload has none"],
  ["s3://open/x", { team: "any", rule: "a", version: version("any", "a") }, null],
  ["s3://elsewhere/x", { team: "any" }, null],
] as const)("%s for %j: %s", (uri, access, refusal) => {
  const found = readingRefusal(places, uri, { version: null, ...access });
  if (refusal === null) expect(found).toBeNull();
  else expect(found).toContain(refusal);
});

it("lets only writers write", () => {
  expect([mayWrite(lake, "ops/night"), mayWrite(lake, "research"), mayWrite(own, "default")]).toEqual([
    true,
    false,
    true,
  ]);
});

it.each([
  ["s3://lake/raw/secret/x", "ops", undefined, { rule: "restricted" }],
  ["s3://lake/raw", "ops", undefined, { message: expect.stringContaining("contains the store inner") }],
  ["s3://lake/x", "research", undefined, { rule: undefined }],
  ["s3://lake/x", "research", "own", { message: expect.stringContaining("admits no data rule, and the version has") }],
  ["s3://elsewhere/x", "research", "own", { rule: "own" }],
  ["s3://lake/x", "default", undefined, { message: expect.stringContaining("not open to the team default") }],
  ["s3://open/x", "any", undefined, { message: expect.stringContaining("State the rule") }],
  ["s3://open/x", "any", "b", { rule: "b" }],
  ["s3://open/x", "any", "c", { message: expect.stringContaining("admits a, b, and the version has the rule c") }],
  ["s3://lake/artifacts/model/ops/chat/1", "research", undefined, { message: expect.stringContaining("another name") }],
])("a version at %s of %s with the rule %s", (uri, team, rule, outcome) => {
  expect(contentRule(places, [uri], { owner: version(team), rule })).toMatchObject(outcome);
});

/** Ways to name one file of the store nfs. */
const spellings = [
  "file:///srv/nfs/x",
  "/srv/nfs/x",
  "/srv//other/../nfs/x",
  "file:///srv//nfs/x",
  "file:///srv/./nfs/x",
  "file:///srv/n%66s/x",
  "file:///srv/n\tfs/x",
  "FILE:///srv/nfs/x",
  "file:/srv/nfs/x",
  "file://localhost/srv/nfs/x",
];

it.each(spellings)("no spelling of a URI takes bytes from the rule of their store: %j", (uri) => {
  const owner = version("any");
  expect(contentRule(places, [uri], { owner, rule: undefined })).toEqual({ kind: "rule", rule: "restricted" });
  expect(contentRule(places, [uri], { owner, rule: "other" })).toMatchObject({
    message: expect.stringContaining("admits restricted, and the version has the rule other"),
  });
  expect(readingRefusal(places, uri, { team: "any", version: null })).toContain("the workload has none");
});

/** Paths that a file URI writes with escapes. */
it.each(["/srv/data#1", "/srv/a?b", "/srv/n%41me"])("the store at %s has its rules and rights", (place) => {
  const store = declared({ name: "odd", type: "shared", path: place, readers: ["research"], rules: ["restricted"] });
  const escaped = pathToFileURL(`${place}/x`).href;
  const uris = [`file://${place}/x`, `${place}/x`, escaped, `file://localhost${place}//x`, `file:///srv/..${place}/x`];
  for (const uri of uris) {
    expect(readingRefusal([store], uri, { team: "other", version: null })).toContain("not open to the team other");
    expect(contentRule([store], [uri], { owner: version("research"), rule: undefined })).toMatchObject({
      rule: "restricted",
    });
  }
  expect(readingRefusal([store], `file://${place}/artifacts/x`, { team: "research", version: null })).toContain(
    "Name the version",
  );
});

it.each([
  "file://127.0.0.1/srv/nfs/x",
  "file:///srv/nfs%2Fx",
  "file:///srv/pub/..%2Fnfs/x",
  "file:///srv//nfs/x%2Fy",
  "file:///srv/n%66s/%zz",
  "file:///srv/100%/a%2F../x",
  "file:\\\\srv\\nfs",
])("refuses a file URI that readers take for different paths: %j", (uri) => {
  const percent = declared({ name: "percent", type: "shared", path: "/srv/100%", readers: ["*"] });
  const stores = [shared, percent];
  expect(readingRefusal(stores, uri, { team: "any", version: null })).toContain(
    "Write it as a path, or with %25 for %.",
  );
  expect(contentRule(stores, [uri], { owner: version("any"), rule: undefined })).toMatchObject({ kind: "refused" });
  expect(readingRefusal(stores, "file:///srv/100%/a/x", { team: "any", version: null })).toBeNull();
});

it("a file with a lone % in its name is read by its URI, and one with an escape by its path or by %25", () => {
  const read = (uri: string, stores = [shared]): string | null =>
    readingRefusal(stores, uri, { team: "any", version: null, isList: true });
  expect(read("file:///srv/nfs/in/report 50%.csv")).toBeNull();
  for (const name of ["date=2024%2F01", "50%_x"]) {
    expect(read(`/srv/nfs/${name}/x.parquet`)).toBeNull();
    expect(read(`file:///srv/nfs/${name.replace("%", "%25")}/x.parquet`)).toBeNull();
  }
});

it.each([
  " file:///srv/nfs/x",
  "<file:///srv/nfs/x>",
  "URL:file:///srv/nfs/x",
  "<URL:file:///srv/nfs/x>",
  "\tfile:/srv/nfs/x",
])("%j is in no store, though some readers open it there, and is refused", (uri) => {
  expect(readingRefusal([shared], uri, { team: "any", version: null })).toContain("is not clear to all readers");
  expect(
    contentRule([shared], [uri], { owner: { kind: "dataset", team: "any", name: "x" }, rule: undefined }).kind,
  ).toBe("refused");
});

it("without a store, any file URI is a name that the work reads itself", () => {
  const refusal = (stores: readonly PlaceDeclaration[]): string | null =>
    readingRefusal(stores, "file://nas/export/x", { team: "any", version: null });
  expect(refusal([shared])).toContain("is not clear to all readers");
  expect(refusal([])).toBeNull();
});

it("a URI that readers take in two ways needs the rights of both stores", () => {
  const shut = declared({ name: "shut", type: "shared", path: "/srv/nAme", readers: ["research"] });
  const free = declared({ name: "free", type: "shared", path: "/srv/n%41me/free", readers: ["*"] });
  const refusal = readingRefusal([shut, free], "file:///srv/n%41me/free/x", { team: "other", version: null });
  expect(refusal).toContain("The store shut is not open");
});

it("leaves URIs alone that are written as stores write them", () => {
  for (const uri of ["file:///srv/nfs/a-b_c.d/x@2", "s3://lake/a//../b"]) expect(plainUri(uri)).toBe(uri);
  const elsewhere = ["file:///srv/nfs2/x", "file:///srv/x/..nfs/x", "/srv/nf"];
  for (const uri of elsewhere) expect(readingRefusal([shared], uri, { team: "none", version: null })).toBeNull();
});
