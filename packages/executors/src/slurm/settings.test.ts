import { expect, it } from "vitest";
import { slurmSettings } from "./settings.ts";

it.each(["/", "/shared", "/shared/headroom", "/shared/headroom/", "/shared/headroom/run", "/home/../shared"])(
  "refuse %s in uploadsFrom, which contains the directory of the executor or lies in it",
  (named) => {
    const { success, error } = slurmSettings.safeParse({
      directory: "/shared/headroom",
      uploadsOutputs: true,
      uploadsFrom: ["/home", named],
    });
    expect(success).toBe(false);
    expect(error?.issues).toMatchObject([{ path: ["uploadsFrom"] }]);
  },
);

it("take directories beside that of the executor in uploadsFrom", () => {
  const settings = { directory: "/shared/headroom", uploadsFrom: ["/home", "/shared/head", "/shared/headroom-data"] };
  expect(slurmSettings.parse(settings)).toMatchObject(settings);
});
