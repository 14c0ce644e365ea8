import { describe, expect, it } from "vitest";
import { createEngine } from "../index.ts";
import { presets } from "@headroom/model";
import { worldOf } from "../engine/engine.ts";
import { applied, command, node, pool, site, spec, team } from "../../test/lab/make.ts";
import { TYPES_NAMED_MAX } from "./types-named.ts";

const named = (from: number, count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`T${from + index}`, 1]));

describe("the number of accelerator types that pools and teams name", () => {
  const engine = createEngine();
  const reply = (documents: Parameters<typeof applied>[0]): unknown => {
    const [first] = engine.receive([applied(documents)], 0).replies;
    engine.advance();
    return first;
  };
  const refused = (count: number): object => ({
    kind: "rejected",
    rejection: { code: "tooManyTypes", count, maxCount: TYPES_NAMED_MAX },
  });

  it("is bounded over all teams and applies, and other resources do not count", () => {
    const beside = { cores: 1, memory: 1, accelerators: 1, networkGbps: 1 };
    expect(reply({ sites: [site], pools: [pool("T0"), pool("")] })).toMatchObject({ kind: "accepted" });
    const many = team("many", null, { ...named(0, TYPES_NAMED_MAX), ...beside });
    expect(reply({ teams: [many] })).toMatchObject({ kind: "accepted" });
    expect(reply({ teams: [team("more", null, named(TYPES_NAMED_MAX - 1, 2))] })).toMatchObject(
      refused(TYPES_NAMED_MAX + 1),
    );
    expect(reply({ teams: [{ ...team("lends"), userLimit: { Other: 1 } }] })).toMatchObject(
      refused(TYPES_NAMED_MAX + 1),
    );
    expect(reply({ sites: [site], pools: [pool("Late")] })).toMatchObject(refused(TYPES_NAMED_MAX + 1));
  });

  it("does not refuse names that are known", () => {
    expect(reply({ teams: [team("same", null, named(3, 20))] })).toMatchObject({ kind: "accepted" });
  });
});

it.each([...presets.keys()])("types that requests name take no place in the amounts of teams (%s)", (name) => {
  const engine = createEngine();
  const submissions = Array.from({ length: 50 }, (_, index) =>
    command({
      kind: "submitWorkload",
      spec: spec(`w${index}`, { team: "own", gang: { accelerators: 1 }, acceleratorTypes: [`A${index}`, `B${index}`] }),
    }),
  );
  const policy = presets.get(name);
  engine.receive(
    [
      applied({ sites: [site], pools: [pool("T0")], teams: [team("own", null, { T0: 1 })] }),
      { kind: "nodeSeen", node: node("n0", "T0") },
      ...(policy === undefined ? [] : [command({ kind: "setPolicy", policy })]),
      ...submissions,
    ],
    0,
  );
  expect(worldOf(engine).teamUse.resources.slice(4)).toEqual(["T0"]);
});
