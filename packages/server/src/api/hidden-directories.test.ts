import { expect, it } from "vitest";
import type { Executor } from "@headroom/executors";
import { directoryRefusal } from "./hidden-directories.ts";

const executor = (hidden: string | null): Executor =>
  (hidden === null ? {} : { hides: (directory: string) => directory.startsWith(hidden) }) as Executor;
const submitted = (dir: string | null) => [
  { pointer: "", spec: {} },
  { pointer: "/workloads/1", spec: { dir } },
];

it.each<[string | null, (string | null)[], boolean]>([
  ["/state/work", ["/state"], true],
  ["/home/ann", ["/state"], false],
  [null, ["/state"], false],
  // Another executor may show the directory to its workers.
  ["/state/work", ["/state", null], false],
  ["/state/work", [], false],
])("work in %s with executors that hide %j", (dir, hidden, isRefused) => {
  const refusal = directoryRefusal(hidden.map(executor), submitted(dir));
  expect(refusal !== null).toBe(isRefused);
  if (refusal === null) return;
  expect(refusal.problem.errors).toMatchObject([{ pointer: "/workloads/1/dir" }]);
  expect(refusal.problem.detail).toContain("submit from another directory");
});
