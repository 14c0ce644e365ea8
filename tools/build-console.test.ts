import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { copyRepository } from "./testing/repository-copy.ts";

it("builds the console when a source changed, not when none did, and keeps the old bundle when the build fails", () => {
  using copy = copyRepository();
  const run = () => {
    const script = path.join(copy.root, "tools/build-console.mjs");
    const { stdout, status } = spawnSync(process.execPath, [script], { encoding: "utf8" });
    return `${status} ${stdout.replace(/\d+\.\d/, "N").trim()}`;
  };
  const bundle = () => readFileSync(path.join(copy.root, "packages/console/dist/index.html"), "utf8");
  const page = (title: string, module: string) =>
    copy.plant("packages/console/index.html", `<title>${title}</title><script type="module" src="${module}"></script>`);

  copy.plant("packages/console/src/planted.ts", 'document.title += "!";\n');
  page("first", "/src/planted.ts");
  expect([run(), run()]).toEqual(["0 console: built in N s", "0 console: up to date"]);
  expect(bundle()).toContain("<title>first</title>");

  page("second", "/src/planted.ts");
  expect(run()).toBe("0 console: built in N s");
  expect(bundle()).toContain("<title>second</title>");

  page("third", "/src/absent.ts");
  expect(run()).toBe("1 ");
  expect(bundle()).toContain("<title>second</title>");
});
