/** Work with a container image or with secrets, and pools whose executor has or lacks the ability. */
import { checkInvariants } from "@headroom/engine-oracle";
import { explain } from "@headroom/explain";
import { workloadId } from "@headroom/model";
import { expect, it } from "vitest";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const seen = (ability: "images" | "secrets", value?: boolean) =>
  ({
    kind: "executorSeen",
    executor: {
      id: pool("H100").executor,
      kind: "local",
      capabilities: {
        checkpointOnRequest: true,
        resize: true,
        replaceWorkers: false,
        logs: true,
        ...(value === undefined ? {} : { [ability]: value }),
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
    drive.receive(seen(ability, value), applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }));
    drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
    const submit = (name: string, changes: object) =>
      drive.receive(command({ kind: "submitWorkload", spec: { ...spec(name), ...changes } }));
    submit("needs it", needs);
    submit("plain", {});
    expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toEqual(["w2"]);
    expect(explain(drive.engine, workloadId("w1"))).toMatchObject({ kind: "blocked", reasons: [why] });
    expect(checkInvariants(drive.engine)).toEqual([]);
    drive.receive(seen(ability, true));
    expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toContain("w1");
  },
);
