import { describe, expect, it } from "vitest";
import { pageSession, takePageSession } from "./page-session.ts";

function browser(hash: string) {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  } as Storage;
  const shown: (string | URL | null | undefined)[] = [];
  const history = {
    replaceState: (_state: unknown, _title: string, url?: string | URL | null) => void shown.push(url),
  };
  takePageSession({ hash, pathname: "/", search: "?a=1" }, history, storage);
  return { shown, session: pageSession(storage) };
}

describe("the session of a page", () => {
  it("is taken out of the address and kept", () => {
    expect(browser("#session=session.1.x%2By.alice")).toEqual({ shown: ["/?a=1"], session: "session.1.x+y.alice" });
  });

  it.each(["", "#", "#nodes", "#other=1"])("leaves the address %j as it is", (hash) => {
    expect(browser(hash)).toEqual({ shown: [], session: undefined });
  });
});
