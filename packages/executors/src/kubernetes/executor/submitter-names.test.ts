import { expect, it } from "vitest";
import { kubernetesSettings } from "../settings.ts";
import { mapsSubmitters } from "./submitter-names.ts";

it("knows by which rules work has the rights of its submitter: accounts, and namespaces of users", () => {
  const maps = (settings: object): boolean => mapsSubmitters(kubernetesSettings.parse(settings));
  expect(maps({})).toBe(false);
  expect(maps({ namespace: "ml-{team}", serviceAccount: "{team}" })).toBe(false);
  expect(maps({ serviceAccount: "u-{user}" })).toBe(true);
  expect(maps({ serviceAccounts: { ann: "ann" } })).toBe(true);
  expect(maps({ namespace: "u-{user}" })).toBe(true);
  expect(maps({ namespaces: { lab: "lab", "*": "u-{user}" } })).toBe(true);
});
