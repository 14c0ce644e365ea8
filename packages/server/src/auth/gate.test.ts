import { describe, expect, it } from "vitest";
import { Gate } from "./gate.ts";

const gate = new Gate({ token: "secret", hostNames: [], nowMs: () => 0 });
const open = new Gate({ token: null, hostNames: [], nowMs: () => 0 });
const authorization = "Bearer secret";
const cookieOf = (asker: string): string => (gate.redeem(gate.newLoginCode(asker).code) ?? "").split(";", 1)[0] ?? "";

describe("for whom a request acts", () => {
  it("is told by how it was let in where it names nobody", () => {
    expect([gate.actor({ authorization }), open.actor({})]).toEqual(["token", "anonymous"]);
    for (const asker of ["token", "anonymous", "console"])
      expect(gate.actor({ cookie: cookieOf(asker) })).toBe("console");
  });

  it.each(["alice", "_runner", "Alice.B-2", "1000", "alice+gpu@example.org", "a".repeat(64), "tokens"])(
    "may be said by whoever holds the token, and then asks for links of their own: %s",
    (user) => {
      const said = { "headroom-user": user };
      expect(gate.actor({ ...said, authorization })).toBe(user);
      expect(open.actor(said)).toBe(user);
      expect(gate.actor({ cookie: `other=1; ${cookieOf(user)}` })).toBe(user);
    },
  );

  it("is signed in a browser, which cannot say otherwise", () => {
    const [alice, nobody] = [cookieOf("alice"), cookieOf("token")];
    expect(alice).toMatch(/\.alice$/);
    expect(gate.actor({ cookie: alice.replace(/alice$/, "bob") })).toBeNull();
    expect(gate.actor({ cookie: alice.replace(/\.alice$/, "") })).toBeNull();
    expect(gate.actor({ cookie: `${nobody}.alice` })).toBeNull();
    const other = { "headroom-user": "bob", cookie: alice };
    expect(() => gate.actor(other)).toThrow("send Headroom-User only with the token");
    expect(gate.actor({ ...other, authorization })).toBe("bob");
  });

  it("opens no door", () => {
    expect(gate.actor({ "headroom-user": "alice" })).toBeNull();
    expect(gate.actor({ "headroom-user": "alice", authorization: "Bearer guessed" })).toBeNull();
    expect(gate.actor({ "headroom-user": "not a name" })).toBeNull();
  });

  it.each(["", " ", "a b", "a\nb", "alice, bob", "-rf", ".hidden", "a/b", "a\\b", "ä", "a".repeat(65)])(
    "is refused where it is no name: %j",
    (user) => {
      const message = expect.stringMatching(/^must be 1 to 64 /) as string;
      const problem = { code: "invalidRequest", errors: [{ pointer: "Headroom-User", message }] };
      const refusal = expect.objectContaining({ problem: expect.objectContaining(problem) as object }) as Error;
      expect(() => gate.actor({ "headroom-user": user, authorization })).toThrow(refusal);
    },
  );

  it.each(["token", "console", "anonymous", "start", "notice", "trial", "forecast", "what-if", "replay", "Console"])(
    "is refused where the control plane itself acts under it: %s",
    (user) => {
      const refusal = expect.objectContaining({ code: "reservedName" }) as Error;
      expect(() => gate.actor({ "headroom-user": user, authorization })).toThrow(refusal);
      expect(() => open.actor({ "headroom-user": user })).toThrow(refusal);
    },
  );
});
