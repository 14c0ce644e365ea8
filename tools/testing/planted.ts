import path from "node:path";

/**
 * Violations that are planted in a copy of the repository, each in a separate file, with the rule that must reject it.
 */
export interface Planted {
  readonly file: string;
  readonly code: string;
  readonly rule: string;
}

type Snippet = readonly [packageName: string, code: string, fileName?: string];

function plant(rule: string, snippets: readonly Snippet[]): readonly Planted[] {
  const slug = rule.replace(/[^a-z]+/g, "-");
  return snippets.map(([packageName, code, fileName], index) => ({
    file: path.posix.join(`packages/${packageName}/src`, fileName ?? `planted-${slug}${index}.ts`),
    code,
    rule,
  }));
}

const layerViolations = plant("house(layers)", [
  ["engine", 'import { a } from "@headroom/sim"; export const b = a;'],
  ["engine", 'import type { A } from "@headroom/views"; export type B = A;'],
  ["engine", 'import { type A } from "@headroom/views"; export type B = A;'],
  ["engine", 'export { a } from "@headroom/sim";'],
  ["engine", 'export * from "@headroom/sim";'],
  ["engine", 'export const a = import("@headroom/sim");'],
  ["engine", "export const a = (name: string) => import(name);"],
  ["engine", 'export type A = import("@headroom/sim").A;'],
  ["engine", 'export type A = typeof import("@headroom/sim");'],
  ["engine", 'import "@headroom/sim";'],
  ["engine", 'export { a } from "../../sim/src/index.ts";'],
  ["engine", 'export const a = import("../../sim/src/index.ts");'],
  ["engine", 'export type A = import("../../sim/src/index.ts").A;'],
  ["engine", 'export const a = new URL("../../sim/src/index.ts", import.meta.url);'],
  ["engine", 'export { a } from "../../../tools/lint/layers.ts";'],
  ["engine", 'export { a } from "@headroom/engine";'],
  ["engine", 'export { a } from "../../../../sim/src/index.ts";', "planted/deeper/folder.ts"],
  ["engine", 'import { readFileSync } from "node:fs"; export const a = readFileSync;'],
  ["engine", 'import { readFileSync } from "fs"; export const a = readFileSync;'],
  ["engine", 'import { z } from "zod"; export const a = z;'],
  ["engine", 'import { a } from "../../sim/src/index.ts"; a();', "planted-reach.test.ts"],
  ["engine", 'export { a } from "./testing/planted-permitted.ts";'],
  // Violations of the order of the engine's rooms, type imports included.
  ["engine", 'import { a } from "../round/round.ts"; export const b = a;', "placement/planted-room.ts"],
  ["engine", 'import type { A } from "../cluster/world.ts"; export type B = A;', "state/planted-room.ts"],
  [
    "engine",
    'import { type A } from "../../strategies/install.ts"; export type B = A;',
    "placement/backfill/planted-room.ts",
  ],
  ["engine", 'export type A = import("../engine/ready.ts").A;', "round/planted-room.ts"],
  // Violations of the rule that only apply/ writes the state.
  [
    "engine",
    'import type { State } from "../state/mutable-state.ts"; export type A = State;',
    "round/planted-state.ts",
  ],
  [
    "engine",
    'import { writable } from "../apply/writable.ts"; export const a = writable;',
    "lifecycle/planted-write.ts",
  ],
  ["engine", 'export type { State } from "./state/mutable-state.ts";', "planted-state.ts"],
  ["engine", 'export { a } from "../index.ts";', "round/planted-root.ts"],
  ["engine", 'export { a } from "../state/digest.ts";', "unlisted/planted-room.ts"],
  ["model", 'import type { A } from "../contract/inputs.ts"; export type B = A;', "resources/planted-room.ts"],
  ["model", 'export { a } from "../index.ts";', "policy/planted-root.ts"],
  ["model", 'export { a } from "@headroom/engine";'],
  ["model", 'import type { A } from "@headroom/engine/internals"; export type B = A;'],
  ["engine", 'import { a } from "@headroom/explain"; export const b = a;'],
  ["explain", 'import type { A } from "../dry-runs/plan-apply.ts"; export type B = A;', "reasons/planted-room.ts"],
  ["explain", 'export { a } from "@headroom/engine-oracle";'],
  ["explain", 'export { a } from "@headroom/engine/testing";'],
  ["views", 'export { a } from "@headroom/engine/internals";'],
  ["sim", 'export { a } from "@headroom/engine/internals";'],
  ["sim", 'export { a } from "@headroom/engine/src/engine.ts";'],
  ["sim", 'export { a } from "@headroom/views";'],
  ["sim", 'export { a } from "node:path";'],
  ["protocol", 'export { a } from "@headroom/engine";'],
  ["protocol", 'export { a } from "node:path";'],
  ["protocol", 'export { a } from "fastify";'],
  ["views", 'export { a } from "@headroom/sim";'],
  ["views", 'export { a } from "zod";'],
  ["executors", 'export { a } from "@headroom/server";'],
  ["executors", 'export { a } from "@headroom/protocol";'],
  ["executors", 'export { a } from "pino";'],
  ["server", 'export { a } from "@headroom/console";'],
  ["server", 'export { a } from "@headroom/cli";'],
  ["console", 'export { a } from "@headroom/server";'],
  ["console", 'export { a } from "node:fs";'],
  ["console", 'export { a } from "@headroom/executors";', "planted-component.tsx"],
  ["cli", 'export { a } from "@headroom/engine";'],
  ["cli", 'import { a } from "@headroom/server"; export const b = a;'],
  ["cli", 'export { a } from "@headroom/console";'],
]);

const exactnessViolations = plant("house(exactness)", [
  ["engine", "export const a = Math.random();"],
  ["engine", "export const a = Math.exp(1);"],
  ["engine", "export const a = [Math.log(2), 1];"],
  ["engine", "export const a = Math.pow(2, 3);"],
  ["engine", "export const a = Math.sin(1);"],
  ["engine", "export const a = Math.cos(1);"],
  ["engine", "export const a = Math.tan(1);"],
  ["engine", "export const a = Math.cbrt(1);"],
  ["engine", "export const a = Math.tanh(1);"],
  ["engine", "export const a = Math.hypot(1, 2);"],
  ["engine", 'export const a = Math["random"]();'],
  ["engine", "const { exp } = Math; export const a = exp;"],
  ["engine", "const m = Math; export const a = m;"],
  ["engine", "export const a = { Math };"],
  ["engine", 'export const a = "a".localeCompare("b");'],
  ["engine", 'export const a = "a"["localeCompare"]("b");'],
  ["engine", "export const a = (1).toLocaleString();"],
  ["sim", "export const a = Math.log2(8);"],
  ["views", "export const a = Math.random();"],
  ["views", 'export const a = ["b", "a"].sort((x, y) => x.localeCompare(y));'],
  ["protocol", "export const a = Math.random();"],
]);

const determinismViolations = plant("house(determinism)", [
  ["engine", "export async function a(): Promise<void> {}"],
  ["engine", "export const a = async (): Promise<number> => 1;"],
  ["engine", "export class A { async a(): Promise<void> {} }"],
  ["engine", "export const a = { async b(): Promise<void> {} };"],
  ["engine", "export async function* a(): AsyncGenerator<number> { yield 1; }"],
  ["engine", "export const a = await 1;"],
  ["engine", "for await (const a of []) { a; } export {};"],
  ["engine", "export const a = (b: number): number => b ** 0.5;"],
  ["engine", "export let a = 2; a **= 3;"],
  ["engine", "export const a = Promise.resolve(1);"],
  ["engine", "export type A = Promise<number>;"],
  ["sim", "export async function a(): Promise<void> {}"],
]);

const globalViolations = plant("eslint(no-restricted-globals)", [
  ["engine", "export const a = Date.now();"],
  ["engine", "export const a = new Date(0);"],
  ["engine", "export const a = process.env;"],
  ["engine", "setTimeout(() => {}, 1); export {};"],
  ["engine", "export const a = performance.now();"],
  ["engine", 'export const a = fetch("/");'],
  ["engine", 'console.log("a"); export {};'],
  ["engine", "export const a = globalThis;"],
  ["engine", "export const a = new Intl.Collator();"],
  ["engine", "export const a = crypto.randomUUID();"],
  ["engine", 'export const a = require("fs");'],
  ["sim", "export const a = Date.now();"],
  ["views", "export const a = Date.now();"],
  ["protocol", "export const a = Date.now();"],
]);

const manyLines = Array.from({ length: 71 }, (_, index) => `  a.push(${index});`).join("\n");
const houseViolations = [
  ...plant("import(no-default-export)", [
    ["engine", "export default 1;"],
    ["server", "export default function a() {}"],
  ]),
  ...plant("eslint(max-lines-per-function)", [["server", `export function f(a: number[]): void {\n${manyLines}\n}`]]),
  ...plant("eslint(max-params)", [
    [
      "server",
      "export const f = (...a: unknown[]) => a; export function h(a: 1, b: 2, c: 3, d: 4, e: 5, g: 6) { return f(a, b, c, d, e, g); }",
    ],
  ]),
  ...plant("eslint(max-depth)", [
    [
      "server",
      "export function f(a: number) { if (a) { if (a > 1) { if (a > 2) { if (a > 3) { if (a > 4) { return 1; } } } } } return 0; }",
    ],
  ]),
  ...plant("typescript(require-array-sort-compare)", [
    ["server", "export const f = (a: number[]): number[] => a.toSorted();"],
  ]),
  ...plant("import(no-cycle)", [
    ["server", 'import { b } from "./planted-cycle-b.ts"; export const a = (): number => b();', "planted-cycle-a.ts"],
    ["server", 'import { a } from "./planted-cycle-a.ts"; export const b = (): number => a();', "planted-cycle-b.ts"],
  ]),
  ...plant("eslint(eqeqeq)", [["server", "export const f = (a: number): boolean => a == 1;"]]),
  ...plant("typescript(no-explicit-any)", [["server", "export const f = (a: any): unknown => a;"]]),
  ...plant("typescript(no-floating-promises)", [["server", "const f = async () => 1; export function g() { f(); }"]]),
  ...plant("typescript(no-misused-promises)", [
    ["server", "const f = async () => true; export const a = f() ? 1 : 2;"],
  ]),
  ...plant("typescript(switch-exhaustiveness-check)", [
    ["server", 'export function f(a: "x" | "y"): void { switch (a) { case "x": break; } }'],
  ]),
  ...plant("vitest(no-focused-tests)", [
    ["server", 'import { it } from "vitest"; it.only("a", () => {});', "planted-focus.test.ts"],
  ]),
];

export const planted: readonly Planted[] = [
  ...layerViolations,
  ...exactnessViolations,
  ...determinismViolations,
  ...globalViolations,
  ...houseViolations,
];

/** Code that must pass the check, to prove that the rules are not too strict. */
export const permitted: readonly Planted[] = plant("", [
  ["engine", "export const a: number = Math.max(Math.floor(1.5), Math.sqrt(4), 2 ** 20);"],
  ["engine", "export const a: { Math: number } = { Math: 1 };"],
  ["sim", 'export * from "../../index.ts";', "planted-permitted/folder/up.ts"],
  [
    "engine",
    'import { readFileSync } from "node:fs"; import { expect, it } from "vitest"; it("a", () => expect([readFileSync, Date.now(), Math.exp(1)]).toBeTruthy());',
    "planted-permitted.test.ts",
  ],
  ["engine", "export async function a(): Promise<number> { return Math.random(); }", "testing/planted-permitted.ts"],
  ["engine", 'export * as model from "@headroom/model";'],
  ["explain", 'export * as internals from "@headroom/engine/internals";'],
  ["sim", 'export * as engine from "@headroom/engine";'],
  ["sim", 'export * as sim from "@headroom/sim"; export { cpus } from "node:os";', "../test/planted-permitted.ts"],
  ["protocol", 'export * as zod from "zod";'],
  ["views", 'export * as engine from "@headroom/engine"; export * as explain from "@headroom/explain";'],
  ["views", "export const a: number = Math.log(2);"],
  ["executors", 'export { readFileSync } from "node:fs"; export const a = (): number => Date.now();'],
  ["server", 'export * as sim from "@headroom/sim"; export * as pino from "pino";'],
  ["console", 'export * as sim from "@headroom/sim"; export const a = (): string => document.title;'],
  ["console", 'export const a = (): URL => new URL("./planted-permitted0.ts", import.meta.url);'],
  ["cli", 'export const a = () => import("@headroom/engine");'],
  ["cli", 'export type { a } from "@headroom/server";'],
]);
