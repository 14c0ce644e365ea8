import { describe, expect, it } from "vitest";
import { Gate } from "./gate.ts";

const gate = new Gate({ token: "secret", hostNames: [], nowMs: () => 0 });
const open = new Gate({ token: null, hostNames: [], nowMs: () => 0 });
const authorization = "Bearer secret";
const actorOf = (at: Gate, ...request: Parameters<Gate["principal"]>): string | null =>
  at.principal(...request)?.actor ?? null;

function signedIn(asker: string, isTls: boolean): string {
  const signIn = gate.redeem(gate.newLoginCode({ actor: asker, tokenId: null }).code, isTls);
  return signIn?.kind === "cookie" ? signIn.setCookie : (signIn?.bearer ?? "");
}
const cookieOf = (asker: string): string => signedIn(asker, true).split(";", 1)[0] ?? "";
const bearerOf = (asker: string): string => `Bearer ${signedIn(asker, false)}`;

describe("for whom a request acts", () => {
  it("is told by how it was let in where it names nobody", () => {
    expect([actorOf(gate, { authorization }, true), actorOf(open, {}, true)]).toEqual(["token", "anonymous"]);
    for (const asker of ["token", "anonymous", "console"])
      expect(actorOf(gate, { cookie: cookieOf(asker) }, true)).toBe("console");
  });

  it.each(["alice", "_runner", "Alice.B-2", "1000", "alice+gpu@example.org", "a".repeat(64), "tokens"])(
    "may be said by whoever holds the token, and then asks for links of their own: %s",
    (user) => {
      const said = { "headroom-user": user };
      expect(actorOf(gate, { ...said, authorization }, true)).toBe(user);
      expect(actorOf(open, said, true)).toBe(user);
      expect(actorOf(gate, { cookie: `other=1; ${cookieOf(user)}` }, true)).toBe(user);
    },
  );

  it("is signed in a browser, which cannot say otherwise", () => {
    const [alice, nobody] = [cookieOf("alice"), cookieOf("token")];
    expect(alice).toMatch(/\.alice$/);
    expect(actorOf(gate, { cookie: alice.replace(/alice$/, "bob") }, true)).toBeNull();
    expect(actorOf(gate, { cookie: alice.replace(/\.alice$/, "") }, true)).toBeNull();
    expect(actorOf(gate, { cookie: `${nobody}.alice` }, true)).toBeNull();
    const other = { "headroom-user": "bob", cookie: alice };
    expect(() => actorOf(gate, other, true)).toThrow("send Headroom-User only with the token");
    expect(actorOf(gate, { ...other, authorization }, true)).toBe("bob");
  });

  it("opens no door", () => {
    expect(actorOf(gate, { "headroom-user": "alice" }, true)).toBeNull();
    expect(actorOf(gate, { "headroom-user": "alice", authorization: "Bearer guessed" }, true)).toBeNull();
    expect(actorOf(gate, { "headroom-user": "not a name" }, true)).toBeNull();
  });

  it.each(["", " ", "a b", "a\nb", "alice, bob", "-rf", ".hidden", "a/b", "a\\b", "ä", "a".repeat(65)])(
    "is refused where it is no name: %j",
    (user) => {
      const message = expect.stringMatching(/^must be 1 to 64 /) as string;
      const problem = { code: "invalidRequest", errors: [{ pointer: "Headroom-User", message }] };
      const refusal = expect.objectContaining({ problem: expect.objectContaining(problem) as object }) as Error;
      expect(() => actorOf(gate, { "headroom-user": user, authorization }, true)).toThrow(refusal);
    },
  );

  it.each(["token", "console", "anonymous", "start", "notice", "trial", "forecast", "what-if", "replay", "Console"])(
    "is refused where the control plane itself acts under it: %s",
    (user) => {
      const refusal = expect.objectContaining({ code: "reservedName" }) as Error;
      expect(() => actorOf(gate, { "headroom-user": user, authorization }, true)).toThrow(refusal);
      expect(() => actorOf(open, { "headroom-user": user }, true)).toThrow(refusal);
    },
  );
});

describe("a browser's session", () => {
  it("is a cookie that the browser sends to this server alone, with TLS", () => {
    expect(signedIn("alice", true)).toMatch(
      /^__Host-headroom_[0-9a-f]{8}=\S+; Path=\/; Max-Age=1209600; Secure; HttpOnly; SameSite=Strict$/,
    );
    expect(actorOf(gate, { cookie: cookieOf("alice") }, true)).toBe("alice");
  });

  it("is no cookie without TLS, because every port of the host would get it", () => {
    expect(signedIn("alice", false)).toMatch(/^session\.43200000\.[\w-]{43}\.alice$/);
    expect(actorOf(gate, { authorization: bearerOf("alice") }, false)).toBe("alice");
    expect(actorOf(gate, { authorization: bearerOf("token") }, false)).toBe("console");
    expect(actorOf(gate, { cookie: cookieOf("alice") }, false)).toBeNull();
  });

  const session = signedIn("alice", false);
  it.each([
    ["without its mark", session.replace("session.", "")],
    ["with another user", session.replace(/alice$/, "bob")],
    ["without its user", session.replace(/\.alice$/, "")],
    ["with a later end", session.replace("43200000", "43200001")],
    ["with an end in another form", session.replace("43200000", "043200000")],
    ["with a negative end", session.replace("43200000", "-1")],
    ["with no end", session.replace("43200000", "")],
    ["cut off", session.slice(0, 40)],
    ["with a longer signature", session.replace(".alice", "x.alice")],
    ["in other case", session.toUpperCase()],
    ["with a second mark", `session.${session}`],
    ["of the token", "session.secret"],
    ["that is empty", "session."],
    ["that has only dots", "session...."],
    ["with a space", session.replace(".", " .")],
    ["that names a kept user", session.replace(/alice$/, "token")],
  ])("is refused %s", (_what, changed) => {
    expect(actorOf(gate, { authorization: `Bearer ${changed}` }, false)).toBeNull();
    expect(actorOf(gate, { authorization: `Bearer ${changed}` }, true)).toBeNull();
    expect(actorOf(gate, { authorization: changed }, false)).toBeNull();
    expect(actorOf(gate, { cookie: `session=${changed}` }, true)).toBeNull();
  });

  it("ends after half a day without TLS, and with a new token", () => {
    let nowMs = 0;
    const later = new Gate({ token: "secret", hostNames: [], nowMs: () => nowMs });
    const authorization = bearerOf("alice");
    nowMs = 12 * 3_600_000;
    expect(actorOf(later, { authorization }, false)).toBe("alice");
    nowMs++;
    expect(actorOf(later, { authorization }, false)).toBeNull();
    const renewed = new Gate({ token: "secret2", hostNames: [], nowMs: () => 0 });
    expect(actorOf(renewed, { authorization }, false)).toBeNull();
  });

  it("names its user, so that the browser cannot act for another", () => {
    const other = { "headroom-user": "bob", authorization: bearerOf("alice") };
    expect(() => actorOf(gate, other, false)).toThrow("send Headroom-User only with the token");
  });
});
