import { describe, expect, it } from "vitest";
import { loginPathIn } from "./login-path.ts";

describe("a pasted sign-in link", () => {
  it("is taken for its code, wherever it points", () => {
    expect(loginPathIn(" http://127.0.0.1:7070/login?code=abcDEF-123456\n")).toBe("/login?code=abcDEF-123456");
    expect(loginPathIn("https://evil.example/login?x=1&code=abcDEF_123456#top")).toBe("/login?code=abcDEF_123456");
    expect(loginPathIn("0123456789abcdef")).toBe("/login?code=0123456789abcdef");
  });

  it("is refused when it holds none", () => {
    for (const text of ["", "short", "http://127.0.0.1:7070/", "/login?code=", "/login?code=a b c d e f g h"]) {
      expect(loginPathIn(text)).toBeNull();
    }
  });
});
