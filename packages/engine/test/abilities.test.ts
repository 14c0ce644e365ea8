/** Work with a container image or with secrets, and pools whose executor has or lacks the ability. */
import { checkInvariants } from "@headroom/engine-oracle";
import { explain } from "@headroom/explain";
import { workloadId } from "@headroom/model";
import type { ExecutorCapabilities } from "@headroom/model";
import { expect, it } from "vitest";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const seen = (abilities: Partial<ExecutorCapabilities>, id = pool("H100").executor) =>
  ({
    kind: "executorSeen",
    executor: {
      id,
      kind: "local",
      capabilities: {
        checkpointOnRequest: true,
        resize: true,
        replaceWorkers: false,
        logs: true,
        ...Object.fromEntries(Object.entries(abilities).filter(([, value]) => value !== undefined)),
      },
    },
  }) as const;

const image = { image: "localhost/a:1" };
const secrets = { secrets: { env: { TOKEN: "hub/token" } } };

it.each([
  ["images", undefined, image, { kind: "image", image: "localhost/a:1", pools: [] }],
  ["images", false, image, { kind: "image", image: "localhost/a:1", pools: [] }],
  ["secrets", undefined, secrets, { kind: "secrets", pools: [], workers: 1, placeableWorkers: 0 }],
  ["secrets", false, secrets, { kind: "secrets", pools: [], workers: 1, placeableWorkers: 0 }],
] as const)(
  "waits while the executor states %s: %s, and starts when it has the ability",
  (ability, value, needs, why) => {
    const drive = new Drive();
    drive.receive(
      seen({ [ability]: value }),
      applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }),
    );
    drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
    const submit = (name: string, changes: object) =>
      drive.receive(command({ kind: "submitWorkload", spec: { ...spec(name), ...changes } }));
    submit("needs it", needs);
    submit("plain", {});
    expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toEqual(["w2"]);
    expect(explain(drive.engine, workloadId("w1"))).toMatchObject({ kind: "blocked", reasons: [why] });
    expect(checkInvariants(drive.engine)).toEqual([]);
    drive.receive(seen({ [ability]: true }));
    expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toContain("w1");
  },
);

it("starts work with secrets in the pools alone whose executor lists them for its team", () => {
  const drive = new Drive();
  const [a, b] = [
    { ...pool("H100"), name: "a", executor: "a" },
    { ...pool("H100"), name: "b", executor: "b" },
  ];
  drive.receive(
    seen({ secrets: true, secretRules: ["registry"] }, "a"),
    seen({ secrets: true, secretRules: ["{user}.x", "{team}-tokens"] }, "b"),
    applied({ sites: [site], pools: [a, b] as never, teams: [team("default")] }),
  );
  drive.receive({ kind: "nodeSeen", node: { ...node("n1", "H100"), pool: "a" } as never });
  const submit = (name: string, token: string) =>
    drive.receive(
      command({ kind: "submitWorkload", spec: { ...spec(name), secrets: { env: { TOKEN: `${token}/token` } } } }),
    );
  submit("elsewhere", "default-tokens");
  submit("here", "registry");
  expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toEqual(["w2"]);
  const why = { kind: "secrets", pools: ["b"], workers: 1, placeableWorkers: 0 };
  expect(explain(drive.engine, workloadId("w1"))).toMatchObject({ kind: "blocked", reasons: [why] });
  drive.receive({ kind: "nodeSeen", node: { ...node("n2", "H100"), pool: "b" } as never });
  expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toContain("w1");
  expect(checkInvariants(drive.engine)).toEqual([]);
});

it("starts work with secrets that the rules list for its submitter, and no work that names those of others", () => {
  const drive = new Drive();
  drive.receive(
    seen({ secrets: true, secretRules: ["{user}-keys"] }),
    applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }),
  );
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  const ofAnn = (actor: string) => {
    const asks = { ...spec(actor), secrets: { env: { TOKEN: "ann-keys/token" } } };
    return { ...command({ kind: "submitWorkload", spec: asks }), actor };
  };
  drive.receive(ofAnn("ann"), ofAnn("bob"));
  expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toEqual(["w1"]);
  const why = { kind: "secrets", workers: 1, placeableWorkers: 0 };
  expect(explain(drive.engine, workloadId("w2"))).toMatchObject({ kind: "blocked", reasons: [why] });
  expect(checkInvariants(drive.engine)).toEqual([]);
});
